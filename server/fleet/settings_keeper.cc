#include "server/fleet/settings_keeper.h"

#include <algorithm>
#include <iterator>

#include "server/base/refusals.h"

namespace freshet {
namespace {

Status NotFollowed() {
  return MakeStatus(absl::StatusCode::kUnavailable,
                    "its server does not run, or cannot reach the server of division {}: it takes "
                    "over the settings once it can",
                    SlotDivision::kKeeper);
}

Status FaultIn(const v1::FleetSettingsFault& fault) {
  const bool known = fault.code() > 0 && fault.code() <= 16;
  return Status(known ? static_cast<absl::StatusCode>(fault.code()) : absl::StatusCode::kUnknown,
                fault.text());
}

}  // namespace

void SettingsKeeper::Publish(Published done) {
  std::vector<Answered> told;
  uint64_t version = 0;
  {
    const MutexLock lock(mutex_);
    version = ++version_;
    for (auto& [division, member] : members_) {
      if (member.waiting) told.push_back(std::exchange(member.waiting, nullptr));
    }
    if (done && !stopped_) {
      changes_.push_back({version, clock_.Now() + kPatience, std::exchange(done, nullptr)});
    }
  }
  for (const Answered& answered : told) Tell(version, {}, answered);
  if (done) done({{division_.division, ServerIsStopping()}});
}

void SettingsKeeper::Tell(uint64_t version, const std::string& after,
                          const Answered& answered) const {
  v1::ShareSettingsResponse response;
  *response.mutable_settings() = make_(after);
  response.mutable_settings()->set_version(version);
  answered(std::move(response));
}

Status SettingsKeeper::Take(const v1::ShareSettingsRequest& report) {
  if (report.division() >= division_.divisions || report.division() == division_.division) {
    return InvalidArgument("division: {} is not the number of another of the {} divisions",
                           report.division(), division_.divisions);
  }
  if (stopped_) return ServerIsStopping();
  Member& member = members_[report.division()];
  if (report.node() < member.node || report.taken() > version_ || report.in_force() > version_) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "settings: this server has version {}, but the server of division {} reports "
                      "version {}: the data of one of the two servers was replaced or restored",
                      version_, report.division(), report.taken());
  }
  member.node = report.node();
  member.in_force = report.in_force();
  member.failed = report.has_fault() ? report.fault().version() : 0;
  if (report.has_fault()) member.why = FaultIn(report.fault());
  return absl::OkStatus();
}

void SettingsKeeper::Hear(const v1::ShareSettingsRequest& report, Answered answered) {
  Status heard;
  Answered earlier;
  Ended ended;
  uint64_t version = 0;
  {
    const MutexLock lock(mutex_);
    heard = Take(report);
    if (heard.ok()) {
      const Instant now = clock_.Now();
      Member& member = members_[report.division()];
      earlier = std::exchange(member.waiting, nullptr);
      version = version_;
      if (report.taken() == version && report.after_crawl_id().empty()) {
        member.waiting = std::exchange(answered, nullptr);
        member.waits_until = now + kHold;
      }
      ended = TakeEnded(now);
    }
  }
  if (!heard.ok()) return answered(heard);
  if (earlier) earlier(v1::ShareSettingsResponse());
  if (answered) Tell(version, report.after_crawl_id(), answered);
  End(ended);
}

std::optional<Status> SettingsKeeper::Outcome(uint32_t division, uint64_t version) const {
  const auto it = members_.find(division);
  if (it == members_.end()) return std::nullopt;
  if (it->second.in_force >= version) return absl::OkStatus();
  if (it->second.failed >= version) return it->second.why;
  return std::nullopt;
}

SettingsKeeper::Ended SettingsKeeper::TakeEnded(Instant now) {
  Ended ended;
  std::vector<Change> open;
  for (Change& change : changes_) {
    std::vector<std::pair<uint32_t, Status>> outcomes;
    bool all = true;
    for (uint32_t division = 0; division < division_.divisions; ++division) {
      if (division == division_.division) continue;
      const std::optional<Status> outcome = Outcome(division, change.version);
      all = all && outcome.has_value();
      outcomes.emplace_back(division, outcome.value_or(NotFollowed()));
    }
    if (all || stopped_ || change.given_up <= now) {
      ended.emplace_back(std::move(change.done), std::move(outcomes));
    } else {
      open.push_back(std::move(change));
    }
  }
  changes_ = std::move(open);
  return ended;
}

void SettingsKeeper::End(const Ended& ended) {
  for (const auto& [done, outcomes] : ended) done(outcomes);
}

void SettingsKeeper::Attend() {
  std::vector<Answered> held;
  Ended ended;
  {
    const MutexLock lock(mutex_);
    const Instant now = clock_.Now();
    for (auto& [division, member] : members_) {
      if (member.waiting && (stopped_ || member.waits_until <= now)) {
        held.push_back(std::exchange(member.waiting, nullptr));
      }
    }
    ended = TakeEnded(now);
  }
  for (const Answered& answered : held) answered(v1::ShareSettingsResponse());
  End(ended);
}

void SettingsKeeper::Stop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
  }
  Attend();
}

}  // namespace freshet
