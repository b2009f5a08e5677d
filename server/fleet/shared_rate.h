// The one crawl rate of a fleet, on a server of one division. The server obeys its part
// (RateMember), and splits the whole while it is elected (RateLeadership). Kafka decides who leads;
// reports and grants go over calls between servers.
#ifndef FRESHET_SERVER_FLEET_SHARED_RATE_H_
#define FRESHET_SERVER_FLEET_SHARED_RATE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/fleet/fleet_rate.h"
#include "core/fleet/lead_review.h"
#include "core/fleet/slot_division.h"
#include "server/api/divisions.h"
#include "server/api/rate_sharing.h"
#include "server/base/reaper.h"
#include "server/base/system_clock.h"
#include "server/base/ticker.h"
#include "server/fleet/price_probe.h"
#include "server/fleet/rate_election.h"
#include "server/fleet/rate_leadership.h"
#include "server/fleet/rate_member.h"
#include "sync/mutex.h"

namespace freshet {

class Dispatcher;
class PlanRunner;
class Router;

// The options of this fleet. After `silence` another server leads, or serves a division.
[[nodiscard]] FleetRateOptions SharingOptions(uint32_t divisions, Duration silence);

// Settings of SharedRate. Value type, thread-compatible.
struct SharedRateOptions {
  SlotDivision division;
  uint64_t generation = 0;  // of the store in this run: rises with each server of the division
  Duration silence;         // see SharingOptions
  Rate total;               // of the fleet, on its keeper's server
};

// Shares the rate. Thread-safe but for Start and Stop.
class SharedRate final : public RateSharing {
 public:
  // Begins to stand for the lead. Unavailable: try again.
  using Stand = std::function<StatusOr<std::unique_ptr<RateElection>>()>;

  // All references outlive this; `divisions` is stopped before.
  SharedRate(const SharedRateOptions& options, Clock& clock, Router& router, Dispatcher& dispatcher,
             PlanRunner& plans, Divisions& divisions, std::function<bool()> serves, Stand stand);
  ~SharedRate() override { Stop(); }

  void Start();
  // Ends the lead and all obedience; the destructor waits until Kafka knows. Before the dispatcher
  // is destroyed. Idempotent.
  void Stop();

  // Whether anything may be handed out. As cheap as a load.
  [[nodiscard]] bool MayHandOut() const { return member_.MayHandOut(); }

  [[nodiscard]] Rate total() const override FRESHET_EXCLUDES(mutex_);
  Rate SetTotal(Rate rate) override FRESHET_EXCLUDES(mutex_);
  void Hear(const v1::ShareRateRequest& report, Answered answered) override;
  [[nodiscard]] RateSharingStatus status() const override FRESHET_EXCLUDES(mutex_);

 private:
  [[nodiscard]] bool keeps() const { return options_.division.keeps(); }
  [[nodiscard]] std::optional<FleetTotal> TotalAsOf(Instant sent) FRESHET_EXCLUDES(mutex_);
  void HearOfTotal(const FleetTotal& total) FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] HandedOut CountHandedOut() const;
  void Send(const RateReport& report, RateMemberHooks::Answered answered) FRESHET_EXCLUDES(mutex_);
  void Obey(Rate rate);
  void FindLeader() FRESHET_EXCLUDES(mutex_);
  // The election that it stands in, maybe from now on; nullptr = it does not stand.
  [[nodiscard]] std::shared_ptr<RateElection> Election() FRESHET_EXCLUDES(mutex_);
  // Gives up a lead that is of no use to the others.
  void ReviewLead() FRESHET_EXCLUDES(mutex_);
  void Attend();
  [[nodiscard]] std::optional<uint64_t> Leads() const FRESHET_EXCLUDES(mutex_);

  const SharedRateOptions options_;
  const FleetRateOptions sharing_;
  Clock& clock_;
  Dispatcher& dispatcher_;
  PlanRunner& plans_;
  Divisions& divisions_;
  const Stand stand_;
  PriceProbe probe_;
  mutable Mutex mutex_;
  // Only the finder sets it, until Stop; nullptr = it does not stand now.
  std::shared_ptr<RateElection> election_ FRESHET_GUARDED_BY(mutex_);
  Instant stands_from_;  // used by the finder alone
  std::optional<FleetTotal> total_ FRESHET_GUARDED_BY(mutex_);
  std::optional<uint32_t> leader_ FRESHET_GUARDED_BY(mutex_);  // the division whose server leads
  std::atomic<double> planned_{0};  // the rate of the last plans, per second
  RateLeadership leadership_;
  LeadReview review_;  // used by the finder alone
  RateMember member_;
  std::unique_ptr<Ticker> finder_;
  std::unique_ptr<Ticker> attender_;
  Reaper leaver_;  // destroys what Stop ends
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_SHARED_RATE_H_
