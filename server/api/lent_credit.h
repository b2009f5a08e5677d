// Lends a worker's credit to the other divisions of a fleet, in equal shares. Each share is a call
// of Next on behalf of the worker, which returns pages or the unused share. So a worker gets pages
// of all divisions, whichever server it is connected to. How many pages each division hands out
// depends on its part of the crawl rate; all parts have a common price.
#ifndef FRESHET_SERVER_API_LENT_CREDIT_H_
#define FRESHET_SERVER_API_LENT_CREDIT_H_

#include <grpcpp/alarm.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/base/units.h"
#include "freshet/v1/scheduler.pb.h"
#include "server/api/context.h"
#include "server/api/divisions.h"
#include "server/auth/on_behalf.h"
#include "server/base/places.h"
#include "server/engine/turn_queue.h"
#include "sync/mutex.h"

namespace freshet {

// The lent credit of one worker. Thread-safe. `context` outlives this.
class LentCredit : public std::enable_shared_from_this<LentCredit> {
 public:
  // A credit of less than one page for each division is not divided. A random draw decides whether
  // one division gets all of it for kIdle, or the worker's own server keeps it. If that server has
  // not used the credit for kIdle, it takes no part in the draw.
  static constexpr Duration kIdle = Duration::Seconds(1);
  // A division that had no pages is left out of the draw for kTryAfter, unless the worker's own
  // server is idle. When the division is asked again, the call waits for pages for kTryFor. A
  // division that is never asked for pages might get no part of the crawl rate.
  static constexpr Duration kTryAfter = Duration::Seconds(10);
  static constexpr Duration kTryFor = Duration::Seconds(4);
  // The time for which a share is lent.
  static constexpr Duration kLentFor = Duration::Seconds(2);
  // The pause after a failed call, or while assignments are paused. If a call is late by this time,
  // its credit is taken back, because the server does not seem to answer.
  static constexpr Duration kRest = Duration::Seconds(1);

  // Takes assignments of another division. Called without this object's locks.
  using Deliver = std::function<void(uint32_t division, const v1::NextResponse&)>;

  // The owner of the credit. Value type, thread-compatible.
  struct Lender {
    WorkerId worker;
    std::string client;  // the calls take this client's share of ServerContext::lendings
    bool admin = false;  // as in Places::Take
  };

  // All calls send `terms` with a credit and a wait, on behalf of `client`.
  LentCredit(const ServerContext& context, ShownByClient client, v1::NextRequest terms,
             Lender lender, Deliver deliver);
  // Starts lending. From then on, calls Lend regularly.
  void Start();
  // Lends as much as possible. Called when the worker has got more credit.
  void Lend() FRESHET_EXCLUDES(mutex_);
  // Notes that the worker's own server has handed out a page to it.
  void OnServed() FRESHET_EXCLUDES(mutex_);
  // Stops lending. The worker gets the lent credit back at once. The leases of pages that still
  // arrive are returned. Idempotent.
  void Recall() FRESHET_EXCLUDES(mutex_);

 private:
  // Another division.
  struct Debtor {
    uint32_t division = 0;
    uint64_t lent = 0;                   // the credit lent by the open call
    std::optional<Places::Place> place;  // the place of the open call
    bool asked = false;                  // a call is open
    bool late = false;                   // the open call is late, and its credit was taken back
    bool gives = false;                  // the last call brought pages
    Instant try_after;                   // when to ask the division again if it does not give
    Instant answers_until;
    Instant rests_until;
  };
  struct Call {
    size_t debtor = 0;
    uint32_t division = 0;
    uint64_t credit = 0;
    Duration wait;
  };

  void LookAgain();
  [[nodiscard]] std::vector<Call> NextCalls(Instant now) FRESHET_REQUIRES(mutex_);
  [[nodiscard]] std::optional<Call> LendTo(size_t debtor, uint64_t most, Duration wait, Instant now)
      FRESHET_REQUIRES(mutex_);
  // Takes back the credit of calls that are late.
  void ForgetLate(Instant now) FRESHET_REQUIRES(mutex_);
  // Lends all of a small credit to one division; nullopt = the credit is not lent now (see kIdle).
  [[nodiscard]] std::optional<Call> WholeCredit(uint64_t free, Instant now)
      FRESHET_REQUIRES(mutex_);
  void Make(const Call& call);
  void OnAnswer(size_t debtor, const StatusOr<grpc::ByteBuffer>& answer) FRESHET_EXCLUDES(mutex_);

  const ServerContext& context_;
  const ShownByClient client_;
  const v1::NextRequest terms_;
  const Lender lender_;
  const Deliver deliver_;
  Mutex mutex_;
  bool recalled_ FRESHET_GUARDED_BY(mutex_) = false;
  std::vector<Debtor> debtors_ FRESHET_GUARDED_BY(mutex_);
  Random random_ FRESHET_GUARDED_BY(mutex_);
  // The time since which the worker's own server has not used a small credit; unset = there is no
  // small credit.
  std::optional<Instant> idle_since_ FRESHET_GUARDED_BY(mutex_);
  grpc::Alarm alarm_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_LENT_CREDIT_H_
