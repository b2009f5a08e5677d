// The keeper of the settings of a fleet, as the servers of other divisions see it. Gives each state
// of the settings a version, tells all divisions of a new one at once, and knows which version each
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
// Versions rise with each change, and with each server that keeps the settings, whose `first` rises
// (the generation of its store). So of two states the one with the higher version is the later one,
// in whatever order they arrive. A division that only takes higher versions ends up with the last.
// A division that was away reports an earlier version, and gets the latest.
class SettingsKeeper {
 public:
  using Answered = SettingsSharing::Answered;
  using Published = SettingsSharing::Published;
  // Makes the present settings, with crawl ids after this one: at least what holds when it is
  // called. The keeper sets the version.
  using Make = std::function<v1::FleetSettings(const std::string& after_crawl_id)>;

  // A report is answered after this time even if there is nothing to tell.
  static constexpr Duration kHold = Duration::Seconds(1);
  // A division that has not followed a change after this time is given up.
  static constexpr Duration kPatience = Duration::Seconds(15);
  // Bits for the settings that one run of the keeper may publish.
  static constexpr int kVersionBits = 24;

  // The clock outlives this.
  SettingsKeeper(const SlotDivision& division, uint64_t generation, Clock& clock, Make make)
      : division_(division),
        clock_(clock),
        make_(std::move(make)),
        version_((generation << kVersionBits) + 1) {}

  // As in SettingsSharing.
  void Publish(Published done) FRESHET_EXCLUDES(mutex_);
  // Takes a report. InvalidArgument: no such division, or the keeper's own. FailedPrecondition: a
  // server that was replaced, or that has heard of a later keeper. Unavailable after Stop.
  void Hear(const v1::ShareSettingsRequest& report, Answered answered) FRESHET_EXCLUDES(mutex_);
  // Answers reports that are due. To be called every 250 ms or so.
  void Attend() FRESHET_EXCLUDES(mutex_);
  // Answers all waiting reports. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

 private:
  struct Member {
    uint64_t node = 0;
    uint64_t in_force = 0;
    uint64_t failed = 0;  // the version that the division cannot follow, and why
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
  // Takes the changes whose divisions have all reported, or have had their time.
  [[nodiscard]] Ended TakeEnded(Instant now) FRESHET_REQUIRES(mutex_);
  // How the division follows this version; nullopt = it has not reported yet.
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
  std::vector<Change> changes_ FRESHET_GUARDED_BY(mutex_);  // with somebody waiting
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_SETTINGS_KEEPER_H_
