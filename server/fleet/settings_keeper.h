// The keeper of the settings of a fleet, as the servers of the other divisions see it: gives each
// state of the settings a version, tells all divisions of a later one at once, and knows which
// version each follows.
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

// Thread-safe.
//
// Versions rise with each change, and with each server that keeps the settings, whose `first` rises
// (the generation of its store). So of two states the one with the higher version is the later one,
// whatever the order in which they arrive, and a division that takes the higher one only ends up
// with the last. A division that was away says that it has an earlier version, and is told.
class SettingsKeeper {
 public:
  using Answered = SettingsSharing::Answered;
  using Published = SettingsSharing::Published;
  // The settings as they are now, crawl ids from behind this one on: at least what holds when it is
  // called. The version is the keeper's to set.
  using Make = std::function<v1::FleetSettings(const std::string& after_crawl_id)>;

  // A report is answered after so long, if there is nothing to tell.
  static constexpr Duration kHold = Duration::Seconds(1);
  // And a division that does not follow a change is given up.
  static constexpr Duration kPatience = Duration::Seconds(15);
  // Settings that one run of the keeper may publish.
  static constexpr int kVersionBits = 24;

  // The clock outlives this.
  SettingsKeeper(const SlotDivision& division, uint64_t generation, Clock& clock, Make make)
      : division_(division),
        clock_(clock),
        make_(std::move(make)),
        version_((generation << kVersionBits) + 1) {}

  // SettingsSharing's.
  void Publish(Published done) FRESHET_EXCLUDES(mutex_);
  // InvalidArgument: a division that is none, or the keeper's own. FailedPrecondition: a server
  // that was replaced, or one that has heard of a later keeper. Unavailable, after Stop.
  void Hear(const v1::ShareSettingsRequest& report, Answered answered) FRESHET_EXCLUDES(mutex_);
  // To be called every 250 ms or so.
  void Attend() FRESHET_EXCLUDES(mutex_);
  // Answers all that waits. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

 private:
  struct Member {
    uint64_t node = 0;
    uint64_t in_force = 0;
    uint64_t failed = 0;  // the version that it cannot follow, and why
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
  // Those whose divisions have all said what came of it, or have had their time.
  [[nodiscard]] Ended TakeEnded(Instant now) FRESHET_REQUIRES(mutex_);
  // How the division stands to this version; nullopt: it has said nothing yet.
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
  std::vector<Change> changes_ FRESHET_GUARDED_BY(mutex_);  // that somebody waits for
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_SETTINGS_KEEPER_H_
