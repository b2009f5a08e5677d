// A server of a fleet as a receiver of crawl rate: reports to the leader, and obeys its grants.
#ifndef FRESHET_SERVER_FLEET_RATE_MEMBER_H_
#define FRESHET_SERVER_FLEET_RATE_MEMBER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "core/base/status.h"
#include "core/fleet/fleet_rate.h"
#include "core/fleet/grant_holder.h"
#include "server/base/system_clock.h"
#include "server/fleet/rate_wire.h"
#include "sync/mutex.h"

namespace freshet {

// Counts of what the server hands out. Value type, thread-compatible.
struct HandedOut {
  uint64_t assignments = 0;           // so far
  uint64_t ticks_without_credit = 0;  // so far
  uint64_t credit = 0;                // now
};

// The functions of its server that a member needs. Only Attend calls them, except `obey`, which the
// arrival of a grant also calls, on its thread. Value type, thread-compatible.
struct RateMemberHooks {
  using Answered = std::function<void(StatusOr<RateGrant>)>;

  // Whether this server surely serves its division: no other server has taken its place.
  std::function<bool()> serves;
  // Fills in the price, demand and pages of a report.
  std::function<void(RateReport*)> describe;
  std::function<HandedOut()> handed_out;
  // Sends a report to the leader. A grant of term 0 = keep the grant in force.
  std::function<void(const RateReport&, Answered)> send;
  // Limits the rate of handing out from now on.
  std::function<void(Rate)> obey;
};

// Holds the grant of this server. Thread-safe.
class RateMember {
 public:
  // Precondition: the options are valid. The clock outlives this.
  RateMember(NodeId node, uint32_t place, const FleetRateOptions& options, Clock& clock,
             RateMemberHooks hooks);
  // Answers that come after the destruction have no effect.
  ~RateMember();
  RateMember(const RateMember&) = delete;
  RateMember& operator=(const RateMember&) = delete;

  // Reports, and ends a grant that is over. To be called every 250 ms or so.
  void Attend();
  // Stops reporting and obeying grants. Idempotent.
  void Stop();
  // Notes that another server leads: the answer of the former leader is no longer awaited.
  void HearOfLeader();
  // Whether a grant is in force: without one nothing may be handed out. As cheap as a load.
  [[nodiscard]] bool MayHandOut() const;
  [[nodiscard]] Rate granted() const;
  // The number of grants, and of reports that brought none.
  [[nodiscard]] uint64_t grants() const;
  [[nodiscard]] uint64_t unheard() const;
  // How long no grant has been in force; 0 = one is in force.
  [[nodiscard]] Duration ungranted() const;

 private:
  class Impl;
  const std::shared_ptr<Impl> impl_;  // answers hold it as well
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_RATE_MEMBER_H_
