// The shared crawl rate of a fleet, on the server of one division. The server obeys its part of the
// rate (RateMember), and splits the whole rate while it is elected (RateLeadership). Kafka elects
// the leader. Reports and grants are sent by calls between servers.
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

// The options of this fleet. `silence`: a server that was silent for this long is replaced as
// leader and in its division.
[[nodiscard]] FleetRateOptions SharingOptions(uint32_t divisions, Duration silence);

// Settings of SharedRate. Value type, thread-compatible.
struct SharedRateOptions {
  SlotDivision division;
  uint64_t generation = 0;  // the store's generation in this run; rises with each run
  Duration silence;         // see SharingOptions
  Rate total;               // rate of the fleet; used only on the keeper's server
};

// Shares the rate. Thread-safe, except Start and Stop.
class SharedRate final : public RateSharing {
 public:
  // Joins the election of the leader. Unavailable: the caller may try again.
  using Stand = std::function<StatusOr<std::unique_ptr<RateElection>>()>;

  // All referenced objects must outlive this object, and `divisions` must be stopped before its
  // destruction.
  SharedRate(const SharedRateOptions& options, Clock& clock, Router& router, Dispatcher& dispatcher,
             PlanRunner& plans, Divisions& divisions, std::function<bool()> serves, Stand stand);
  ~SharedRate() override { Stop(); }

  void Start();
  // Gives up the lead, and stops obeying grants. Must be called before the dispatcher is destroyed.
  // Idempotent. The destructor also waits until Kafka knows that this server has left the election.
  void Stop();

  // Returns true if pages may be handed out. As cheap as RateMember::MayHandOut.
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
  // The election that this server takes part in; joins it if necessary. nullptr = this server takes
  // no part now.
  [[nodiscard]] std::shared_ptr<RateElection> Election() FRESHET_EXCLUDES(mutex_);
  // Gives up the lead if too few servers report to this server, or too few can obey its grants
  // (LeadReview).
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
  // Set and given up on the finder's thread, and reset by Stop; nullptr = this server takes no part
  // now.
  std::shared_ptr<RateElection> election_ FRESHET_GUARDED_BY(mutex_);
  Instant stands_from_;  // finder's thread only
  std::optional<FleetTotal> total_ FRESHET_GUARDED_BY(mutex_);
  std::optional<uint32_t> leader_ FRESHET_GUARDED_BY(mutex_);  // division of the leader
  std::atomic<double> planned_{0};                             // rate of the last plans, per second
  RateLeadership leadership_;
  LeadReview review_;  // finder's thread only
  RateMember member_;
  std::unique_ptr<Ticker> finder_;
  std::unique_ptr<Ticker> attender_;
  Reaper leaver_;  // destroys the election after Stop
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_SHARED_RATE_H_
