#include "server/api/standby_roster.h"

#include <algorithm>

namespace freshet {

Status StandbyRoster::Hear(const v1::FleetStandby& standby, Instant now) {
  if (standby.node().empty()) return InvalidArgument("standby.node: is empty");
  for (const auto& [field, text] :
       {std::pair("node", standby.node()), std::pair("address", standby.address())}) {
    if (text.size() > kMostBytes) {
      return InvalidArgument("standby.{}: has {} bytes, at most {} are allowed", field, text.size(),
                             kMostBytes);
    }
  }
  const MutexLock lock(mutex_);
  std::erase_if(heard_,
                [now](const auto& entry) { return now - entry.second.at > kForgottenAfter; });
  std::pair key(standby.node(), standby.address());
  if (heard_.size() >= kMost && !heard_.contains(key)) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "{} standby servers are already known, the maximum", kMost);
  }
  heard_.insert_or_assign(std::move(key), Heard{.standby = standby, .at = now});
  heard_one_.NotifyAll();
  return absl::OkStatus();
}

bool StandbyRoster::AllLoaded(Instant now) const {
  return std::all_of(heard_.begin(), heard_.end(), [now](const auto& entry) {
    const v1::FleetStandby& standby = entry.second.standby;
    const bool there = now - entry.second.at <= kForgottenAfter;
    const bool can = standby.has_behind() && standby.has_loaded();
    return !there || !can || (standby.loaded() && standby.ready());
  });
}

bool StandbyRoster::AwaitLoaded(Clock& clock, Duration wait) {
  const MutexLock lock(mutex_);
  if (!AllLoaded(clock.Now())) heard_one_.WaitFor(mutex_, wait.chrono());
  return AllLoaded(clock.Now());
}

std::vector<v1::FleetStandby> StandbyRoster::All(Instant now) const {
  const MutexLock lock(mutex_);
  std::vector<v1::FleetStandby> all;
  for (const auto& [key, heard] : heard_) {
    if (now - heard.at <= kForgottenAfter) all.push_back(heard.standby);
  }
  return all;
}

}  // namespace freshet
