// The leader's part in sharing the crawl rate of a fleet. It takes the reports of all servers, and
// once a round grants each server its part of the rate.
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

// Leads as long as this server is elected. Thread-safe.
class RateLeadership {
 public:
  // A grant, and the rate of the whole fleet. If `grant` is unset, the node keeps its present
  // grant.
  struct Answer {
    std::optional<RateGrant> grant;
    FleetTotal total;
  };
  using Answered = std::function<void(StatusOr<Answer>)>;

  // Returns the number of the turn in which this server leads; nullopt = it does not lead. If the
  // result is a number, no other server has begun to lead before the call. A number other than the
  // last one means that the lead was lost in between.
  using Leads = std::function<std::optional<uint64_t>()>;

  // `clock` must outlive this object. Precondition: the options are valid.
  RateLeadership(const FleetRateOptions& options, Clock& clock, Leads leads)
      : options_(options), clock_(clock), leads_(std::move(leads)) {}

  // Takes a report, and the fleet's rate as the reporting node knows it; unset = the node does not
  // know it. If nodes know different rates, this object uses the one that the rate's keeper (the
  // server of division 0) confirmed last. `answered` is called once, at the next round or with an
  // error. The errors are those of RateLeader::Hear (FailedPrecondition, InvalidArgument,
  // ResourceExhausted). FailedPrecondition also means that this server does not lead, or does not
  // know the rate yet.
  void Hear(const RateReport& report, const std::optional<FleetTotal>& total, Answered answered)
      FRESHET_EXCLUDES(mutex_);
  // Begins or ends the lead, and holds a round when one is due. Must be called every Tick().
  void Attend() FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] static Duration Tick() { return Duration::Millis(250); }
  // Answers all waiting and later reports with FailedPrecondition. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

  // The figures of the last round; unset = this server does not lead.
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
  std::optional<uint64_t> turn_ FRESHET_GUARDED_BY(mutex_);  // turn at the last Attend
  uint64_t term_ FRESHET_GUARDED_BY(mutex_) = 0;             // the highest known term
  std::optional<RateLeader> leader_ FRESHET_GUARDED_BY(mutex_);
  Instant next_round_ FRESHET_GUARDED_BY(mutex_);
  // The reports that wait for the next round.
  std::map<NodeId, Answered> waiting_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_RATE_LEADERSHIP_H_
