// Which standbys of its cluster a server that serves has heard of lately.
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

// Thread-safe. Bounded: kMost standbys.
class StandbyRoster {
 public:
  static constexpr size_t kMost = 64;
  // Of a name or an address.
  static constexpr size_t kMostBytes = 512;
  // They say once a second that they are there.
  static constexpr Duration kForgottenAfter = Duration::Seconds(5);

  // InvalidArgument: it has no name, or a text is too long. ResourceExhausted: there are kMost
  // others.
  [[nodiscard]] Status Hear(const v1::FleetStandby& standby, Instant now) FRESHET_EXCLUDES(mutex_);
  // From now on they are to load the pages beforehand.
  void AskToLoad() { asked_to_load_ = true; }
  [[nodiscard]] bool asked_to_load() const { return asked_to_load_; }
  // Whether all of them have that may take over and can do so. Waits for that, and no longer than
  // `wait`.
  [[nodiscard]] bool AwaitLoaded(Clock& clock, Duration wait) FRESHET_EXCLUDES(mutex_);
  // By name and address; as they said of themselves last.
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
