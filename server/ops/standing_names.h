// The words that programs see for what a host is (core/schedule/host_gate.h).
#ifndef FRESHET_SERVER_OPS_STANDING_NAMES_H_
#define FRESHET_SERVER_OPS_STANDING_NAMES_H_

#include <array>

#include "core/schedule/host_gate.h"

namespace freshet {

inline constexpr std::array<HostStanding, kHostStandings> kAllStandings = {
    HostStanding::kFree,    HostStanding::kBlocked, HostStanding::kInFlight,
    HostStanding::kDelayed, HostStanding::kHours,   HostStanding::kGroup};

[[nodiscard]] constexpr const char* NameOf(HostStanding standing) {
  switch (standing) {
    case HostStanding::kFree:
      return "free";
    case HostStanding::kBlocked:
      return "blocked";
    case HostStanding::kInFlight:
      return "in_flight";
    case HostStanding::kDelayed:
      return "delay";
    case HostStanding::kHours:
      return "hours";
    case HostStanding::kGroup:
      return "group";
  }
  return "";
}

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_STANDING_NAMES_H_
