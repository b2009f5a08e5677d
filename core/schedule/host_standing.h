// What hosts are at an instant, and how many are so. Value types, thread-compatible.
#ifndef FRESHET_CORE_SCHEDULE_HOST_STANDING_H_
#define FRESHET_CORE_SCHEDULE_HOST_STANDING_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace freshet {

// What a host is at an instant: the first of these that holds.
enum class HostStanding : uint8_t {
  kBlocked,   // it is left alone for a while: an operator or its own answers have asked for that
  kInFlight,  // as many of its pages are out as may be
  kDelayed,   // its delay or its cap is not over
  kHours,     // it is outside of its hours
  kGroup,     // the group that it is in is not free
  kFree,      // a page of it may be fetched now
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
