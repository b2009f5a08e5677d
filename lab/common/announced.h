// Chooses which changes of a page history are announced.
#ifndef FRESHET_LAB_COMMON_ANNOUNCED_H_
#define FRESHET_LAB_COMMON_ANNOUNCED_H_

#include <cstdint>

namespace freshet {

// Returns true if a change is announced. A share `recall`, in [0, 1], of all changes is announced.
// The choice depends only on a hash of the seed, of the page's position, and of the position
// `touch` of the change in the page (splitmix64: Steele, Lea and Flood 2014). Thread-safe.
[[nodiscard]] inline bool IsAnnounced(uint64_t seed, uint64_t page, uint64_t touch, double recall) {
  uint64_t x = seed;
  for (const uint64_t part : {page, touch}) {
    x += part * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    x ^= x >> 31;
  }
  return static_cast<double>(x >> 11) * 0x1p-53 < recall;
}

}  // namespace freshet

#endif  // FRESHET_LAB_COMMON_ANNOUNCED_H_
