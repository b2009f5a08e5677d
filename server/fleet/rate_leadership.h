// The server of a fleet that leads, as those who report to it see it: hears them, and answers each
// with its part of the crawl rate once a round.
#ifndef FRESHET_SERVER_FLEET_RATE_LEADERSHIP_H_
#define FRESHET_SERVER_FLEET_RATE_LEADERSHIP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "core/base/status.h"
#include "core/fleet/fleet_rate.h"
#include "core/fleet/rate_leader.h"
#include "server/base/system_clock.h"
#include "server/fleet/rate_wire.h"
#include "sync/mutex.h"

namespace freshet {

// Thread-safe.
class RateLeadership {
 public:
  // The grant, and the fleet's rate; no grant: what the node has stays as it is.
  struct Answer {
    std::optional<RateGrant> grant;
    FleetTotal total;
  };
  using Answered = std::function<void(StatusOr<Answer>)>;

  // The number of the turn in which this server surely leads at the moment of the call: nobody else
  // has begun to. Another one each time that the lead was lost in between; nullopt: it does not.
  using Leads = std::function<std::optional<uint64_t>()>;

  // The clock outlives this. Precondition: the options are valid.
  RateLeadership(const FleetRateOptions& options, Clock& clock, Leads leads)
      : options_(options), clock_(clock), leads_(std::move(leads)) {}

  // Takes a report, with what its node knows of the fleet's rate: the latest word of the keeper
  // counts. `answered` is called once, at the next round, or with why not: FailedPrecondition,
  // InvalidArgument and ResourceExhausted as RateLeader::Hear, FailedPrecondition also where this
  // server does not lead or nobody knows the rate yet.
  void Hear(const RateReport& report, const std::optional<FleetTotal>& total, Answered answered)
      FRESHET_EXCLUDES(mutex_);
  // To be called every Tick(): begins to lead, or ends, and holds a round when it is time for one.
  void Attend() FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] static Duration Tick() { return Duration::Millis(250); }
  // Answers all that waits, and whatever comes yet, by FailedPrecondition. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

  // Of the last round; unset: this server does not lead.
  [[nodiscard]] std::optional<FleetRateFigures> figures() const FRESHET_EXCLUDES(mutex_);

 private:
  using Answers = std::vector<std::pair<Answered, StatusOr<Answer>>>;

  [[nodiscard]] Status Take(const RateReport& report, const std::optional<FleetTotal>& total)
      FRESHET_REQUIRES(mutex_);
  void Begin(Instant now) FRESHET_REQUIRES(mutex_);
  void End(Answers* answers) FRESHET_REQUIRES(mutex_);
  void Round(Instant now, Answers* answers) FRESHET_REQUIRES(mutex_);

  const FleetRateOptions options_;
  Clock& clock_;
  const Leads leads_;
  mutable Mutex mutex_;
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
  std::optional<FleetTotal> total_ FRESHET_GUARDED_BY(mutex_);
  std::optional<uint64_t> turn_ FRESHET_GUARDED_BY(mutex_);  // as of the last Attend
  uint64_t term_ FRESHET_GUARDED_BY(mutex_) = 0;             // the highest that was heard of
  std::optional<RateLeader> leader_ FRESHET_GUARDED_BY(mutex_);
  Instant next_round_ FRESHET_GUARDED_BY(mutex_);
  std::map<NodeId, Answered> waiting_ FRESHET_GUARDED_BY(mutex_);  // for the next round
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_RATE_LEADERSHIP_H_
