// The keeper's part in sharing the settings of a fleet. It gives each state of the settings a
// version, tells all divisions of a new version at once, and tracks which version each division
// follows.
#ifndef FRESHET_SERVER_FLEET_SETTINGS_KEEPER_H_
#define FRESHET_SERVER_FLEET_SETTINGS_KEEPER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/fleet/slot_division.h"
#include "server/api/settings_sharing.h"
#include "server/base/system_clock.h"
#include "sync/mutex.h"

namespace freshet {

// Publishes the settings. Thread-safe.
//
// The version rises with each change. It also rises with each run of the keeper, because its upper
// bits are the generation of the store. So of two states, the one with the higher version is always
// the later one, whatever the order in which they arrive. A division that takes only higher
// versions ends up with the last state. A division that was unreachable reports an earlier version,
// and gets the latest one.
class SettingsKeeper {
 public:
  using Answered = SettingsSharing::Answered;
  using Published = SettingsSharing::Published;
  // Makes a message with the present settings, and with some crawl ids after `after_crawl_id`. The
  // settings must be at least as new as the call. The keeper sets the version.
  using Make = std::function<v1::FleetSettings(const std::string& after_crawl_id)>;

  // A report is answered after this time even if there is no new version.
  static constexpr Duration kHold = Duration::Seconds(1);
  // A change waits at most this long for divisions that have not reported on it.
  static constexpr Duration kPatience = Duration::Seconds(15);
  // The lower bits of a version: they count the changes of one run of the keeper.
  static constexpr int kVersionBits = 24;

  // `clock` must outlive this object. `make` must be thread-safe.
  SettingsKeeper(const SlotDivision& division, uint64_t generation, Clock& clock, Make make)
      : division_(division),
        clock_(clock),
        make_(std::move(make)),
        version_((generation << kVersionBits) + 1) {}

  // See SettingsSharing.
  void Publish(Published done) FRESHET_EXCLUDES(mutex_);
  // Takes a report. InvalidArgument: there is no such division, or it is the keeper's division.
  // FailedPrecondition: the reporting server was replaced, or it knows a later version than the
  // keeper. Unavailable: the keeper is stopped.
  void Hear(const v1::ShareSettingsRequest& report, Answered answered) FRESHET_EXCLUDES(mutex_);
  // Answers reports and ends changes that have waited long enough. Must be called about every 250
  // ms.
  void Attend() FRESHET_EXCLUDES(mutex_);
  // Answers all waiting reports, and ends all changes. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

 private:
  struct Member {
    uint64_t node = 0;
    uint64_t in_force = 0;
    uint64_t failed = 0;  // the version that the division could not take over; 0 = none
    Status why;
    Answered waiting;
    Instant waits_until;
  };
  struct Change {
    uint64_t version = 0;
    Instant given_up;
    Published done;
  };
  using Ended = std::vector<std::pair<Published, std::vector<std::pair<uint32_t, Status>>>>;

  [[nodiscard]] Status Take(const v1::ShareSettingsRequest& report) FRESHET_REQUIRES(mutex_);
  // Takes out the changes that all divisions have reported on, or that have waited long enough.
  [[nodiscard]] Ended TakeEnded(Instant now) FRESHET_REQUIRES(mutex_);
  // The outcome of this version in the division: OK = the division follows it; nullopt = the
  // division has not reported on it yet.
  [[nodiscard]] std::optional<Status> Outcome(uint32_t division, uint64_t version) const
      FRESHET_REQUIRES(mutex_);
  void Tell(uint64_t version, const std::string& after, const Answered& answered) const;
  static void End(const Ended& ended);

  const SlotDivision division_;
  Clock& clock_;
  const Make make_;
  mutable Mutex mutex_;
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
  uint64_t version_ FRESHET_GUARDED_BY(mutex_);
  std::map<uint32_t, Member> members_ FRESHET_GUARDED_BY(mutex_);
  std::vector<Change> changes_ FRESHET_GUARDED_BY(mutex_);  // changes whose callers wait
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_SETTINGS_KEEPER_H_
