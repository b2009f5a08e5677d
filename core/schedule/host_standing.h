// The standing of a host at an instant (free, or why not), and counts of hosts by standing. Value
// types, thread-compatible.
#ifndef FRESHET_CORE_SCHEDULE_HOST_STANDING_H_
#define FRESHET_CORE_SCHEDULE_HOST_STANDING_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace freshet {

// The standing of a host at an instant: the first of these that is true.
enum class HostStanding : uint8_t {
  kBlocked,   // paused by an operator or by the host's answers
  kInFlight,  // has reached its limit of pages in flight
  kDelayed,   // its delay or its cap does not allow a crawl yet
  kHours,     // outside its hours of the day
  kGroup,     // its group is not free
  kFree,      // one of its pages can be fetched now
};
inline constexpr size_t kHostStandings = 6;

// Numbers of hosts by HostStanding. Value type, thread-compatible.
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
