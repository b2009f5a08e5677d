// The lateness of crawls: how long pages waited from a signal to their crawl.
#ifndef FRESHET_CORE_SCHEDULE_LATENESS_H_
#define FRESHET_CORE_SCHEDULE_LATENESS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace freshet {

// Counts waits that have ended, by their length. Value type, thread-compatible.
struct WaitCounts {
  // Upper bounds in seconds, rising. The first is one second, the shortest wait that matters; the
  // last is a month.
  static constexpr std::array<double, 14> kBounds = {
      1, 10, 60, 300, 900, 3600, 10800, 21600, 43200, 86400, 259200, 604800, 1.5e6, 2.6e6};

  // Number of waits by the first bound that is not below the wait. The last element counts the
  // waits above all bounds.
  std::array<uint64_t, kBounds.size() + 1> ended{};
  double seconds = 0;  // sum over all waits

  // Adds `weight` waits of `wait` seconds each.
  void Add(double wait, uint64_t weight) {
    const auto* bound = std::lower_bound(kBounds.begin(), kBounds.end(), wait);
    ended[static_cast<size_t>(bound - kBounds.begin())] += weight;
    seconds += wait * static_cast<double>(weight);
  }
  WaitCounts& operator+=(const WaitCounts& other) {
    for (size_t i = 0; i < ended.size(); ++i) ended[i] += other.ended[i];
    seconds += other.seconds;
    return *this;
  }
  [[nodiscard]] uint64_t total() const {
    uint64_t total = 0;
    for (const uint64_t count : ended) total += count;
    return total;
  }
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_LATENESS_H_
