// The standbys that have reported to an active server recently.
#ifndef FRESHET_SERVER_API_STANDBY_ROSTER_H_
#define FRESHET_SERVER_API_STANDBY_ROSTER_H_

#include <atomic>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "freshet/v1/admin.pb.h"
#include "server/base/system_clock.h"
#include "sync/mutex.h"

namespace freshet {

// The list, of at most kMost standbys. Thread-safe.
class StandbyRoster {
 public:
  static constexpr size_t kMost = 64;
  // The maximum size of a name or an address, in bytes.
  static constexpr size_t kMostBytes = 512;
  // A standby is forgotten if it has not reported for this long. Standbys report once a second.
  static constexpr Duration kForgottenAfter = Duration::Seconds(5);

  // Takes a report. InvalidArgument: the name is empty, or a text is too long. ResourceExhausted:
  // kMost other standbys are already known.
  [[nodiscard]] Status Hear(const v1::FleetStandby& standby, Instant now) FRESHET_EXCLUDES(mutex_);
  // From now on, asks all standbys to load the pages.
  void AskToLoad() { asked_to_load_ = true; }
  [[nodiscard]] bool asked_to_load() const { return asked_to_load_; }
  // Returns true if all standbys that can take over have loaded the pages. If they have not, first
  // waits for the next report, for `wait` at most.
  [[nodiscard]] bool AwaitLoaded(Clock& clock, Duration wait) FRESHET_EXCLUDES(mutex_);
  // All standbys by name and address, with their last reports.
  [[nodiscard]] std::vector<v1::FleetStandby> All(Instant now) const FRESHET_EXCLUDES(mutex_);

 private:
  struct Heard {
    v1::FleetStandby standby;
    Instant at;
  };
  [[nodiscard]] bool AllLoaded(Instant now) const FRESHET_REQUIRES(mutex_);

  std::atomic<bool> asked_to_load_ = false;
  mutable Mutex mutex_;
  Condition heard_one_;
  std::map<std::pair<std::string, std::string>, Heard> heard_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_STANDBY_ROSTER_H_
