// The standing of a host at an instant, and counts of hosts by standing. Value types,
// thread-compatible.
#ifndef FRESHET_CORE_SCHEDULE_HOST_STANDING_H_
#define FRESHET_CORE_SCHEDULE_HOST_STANDING_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace freshet {

// The standing of a host at an instant: the first of these that holds.
enum class HostStanding : uint8_t {
  kBlocked,   // paused, by an operator or by its own answers
  kInFlight,  // its limit of pages out is reached
  kDelayed,   // its delay or its cap still holds it
  kHours,     // outside its hours
  kGroup,     // its group is not free
  kFree,      // one of its pages may be fetched now
};
inline constexpr size_t kHostStandings = 6;

// Hosts by HostStanding. Value type, thread-compatible.
struct HostCounts {
  std::array<uint64_t, kHostStandings> by_standing{};
  HostCounts& operator+=(const HostCounts& other) {
    for (size_t i = 0; i < by_standing.size(); ++i) by_standing[i] += other.by_standing[i];
    return *this;
  }
  [[nodiscard]] uint64_t operator[](HostStanding standing) const {
    return by_standing[static_cast<size_t>(standing)];
  }
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_STANDING_H_
