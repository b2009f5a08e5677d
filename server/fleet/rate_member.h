// A server of a fleet, as far as the crawl rate goes: reports to who leads, and obeys what it is
// granted.
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

// What a server hands out, as it goes. Value type, thread-compatible.
struct HandedOut {
  uint64_t assignments = 0;           // so far
  uint64_t ticks_without_credit = 0;  // likewise
  uint64_t credit = 0;                // now
};

// What a member needs of its server. All are called by Attend alone, but for `obey`, which a grant
// that comes calls as well, on its thread. Value type, thread-compatible.
struct RateMemberHooks {
  using Answered = std::function<void(StatusOr<RateGrant>)>;

  // Whether this server surely serves its division: nobody has taken its place.
  std::function<bool()> serves;
  // Price, demand and pages of a report.
  std::function<void(RateReport*)> describe;
  std::function<HandedOut()> handed_out;
  // Sends a report to who leads. A grant of term 0: what is obeyed stays.
  std::function<void(const RateReport&, Answered)> send;
  // Nothing may be handed out faster from now on.
  std::function<void(Rate)> obey;
};

// Thread-safe.
class RateMember {
 public:
  // Precondition: the options are valid. The clock outlives this.
  RateMember(NodeId node, uint32_t place, const FleetRateOptions& options, Clock& clock,
             RateMemberHooks hooks);
  // Answers that come later do nothing.
  ~RateMember();
  RateMember(const RateMember&) = delete;
  RateMember& operator=(const RateMember&) = delete;

  // To be called every 250 ms or so.
  void Attend();
  // Reports and obeys no more. Idempotent.
  void Stop();
  // Another leads: what was sent to the one before is waited for no longer.
  void HearOfLeader();
  // Whether a grant is in force: without one nothing may be handed out. As cheap as a load.
  [[nodiscard]] bool MayHandOut() const;
  [[nodiscard]] Rate granted() const;
  // Grants that came, and reports that nobody answered with one.
  [[nodiscard]] uint64_t grants() const;
  [[nodiscard]] uint64_t unheard() const;
  // For how long no grant has been in force; zero: one is.
  [[nodiscard]] Duration ungranted() const;

 private:
  class Impl;
  const std::shared_ptr<Impl> impl_;  // answers hold it as well
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_RATE_MEMBER_H_
