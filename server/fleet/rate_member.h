// A server's part in sharing the crawl rate of a fleet: it reports to the leader, and obeys the
// leader's grants.
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
  uint64_t assignments = 0;           // since the start
  uint64_t ticks_without_credit = 0;  // since the start
  uint64_t credit = 0;                // at present
};

// The functions of the server that a member needs. Attend calls them. `obey` is also called when a
// grant arrives, on the thread that delivers the grant. Value type, thread-compatible.
struct RateMemberHooks {
  using Answered = std::function<void(StatusOr<RateGrant>)>;

  // Returns true if it is certain that this server serves its division, and that no other server
  // has taken over.
  std::function<bool()> serves;
  // Fills in the price, demand and pages of a report.
  std::function<void(RateReport*)> describe;
  std::function<HandedOut()> handed_out;
  // Sends a report to the leader. An answer of term 0 means: keep the grant in force.
  std::function<void(const RateReport&, Answered)> send;
  // Sets the rate at which the server may hand out pages from now on.
  std::function<void(Rate)> obey;
};

// Holds the grant of this server. Thread-safe.
class RateMember {
 public:
  // `place`: the number of the division. `clock` must outlive this object. Precondition: the
  // options are valid.
  RateMember(NodeId node, uint32_t place, const FleetRateOptions& options, Clock& clock,
             RateMemberHooks hooks);
  // Answers that come after the destruction have no effect.
  ~RateMember();
  RateMember(const RateMember&) = delete;
  RateMember& operator=(const RateMember&) = delete;

  // Reports to the leader, and ends a grant that has expired. Must be called about every 250 ms.
  void Attend();
  // Stops reporting and obeying grants. Idempotent.
  void Stop();
  // Notes that another server leads now. The member then stops waiting for the former leader's
  // answer.
  void HearOfLeader();
  // Returns true if a grant is in force. Without a grant, no page may be handed out. The call costs
  // no more than an atomic load and a read of the clock.
  [[nodiscard]] bool MayHandOut() const;
  [[nodiscard]] Rate granted() const;
  // The number of grants received, and of reports that failed or whose grant was refused.
  [[nodiscard]] uint64_t grants() const;
  [[nodiscard]] uint64_t unheard() const;
  // For how long no grant has been in force; 0 = a grant is in force.
  [[nodiscard]] Duration ungranted() const;

 private:
  class Impl;
  const std::shared_ptr<Impl> impl_;  // shared with callbacks of reports
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_RATE_MEMBER_H_
