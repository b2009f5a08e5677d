// Lends a worker's credit to the other divisions of a fleet. Each division has an equal share of
// it, as a call of Next for the worker, which brings pages or gives the share back. So workers take
// pages of all divisions wherever they are connected. The divisions' parts of the crawl rate, at a
// common price, decide how many each hands out.
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
  // If the credit is less than one for each division, chance gives all of it to one division for
  // this time, or leaves it to the worker's own server. After this time without pages from its own
  // server the credit is always lent.
  static constexpr Duration kIdle = Duration::Seconds(1);
  // A division without pages is asked again after kTryAfter, for kTryFor: it may get no part of the
  // crawl rate before it is asked for pages.
  static constexpr Duration kTryAfter = Duration::Seconds(10);
  static constexpr Duration kTryFor = Duration::Seconds(4);
  // The time for which a share is lent.
  static constexpr Duration kLentFor = Duration::Seconds(2);
  // The pause after a failed call, or while assignments are paused. The credit of a call comes back
  // when the call is late by this time, because no server answers.
  static constexpr Duration kRest = Duration::Seconds(1);

  // Takes assignments of another division. Called without locks of this.
  using Deliver = std::function<void(uint32_t division, const v1::NextResponse&)>;

  // The owner of the credit. Value type, thread-compatible.
  struct Lender {
    WorkerId worker;
    std::string client;  // whose share of places (ServerContext::lendings) the calls take
    bool admin = false;  // as in Places::Take
  };

  // `terms`: what the calls say of the worker. `client`: the client they act for.
  LentCredit(const ServerContext& context, ShownByClient client, v1::NextRequest terms,
             Lender lender, Deliver deliver);
  // Starts lending, and looks again from time to time.
  void Start();
  // Lends what it can, after the worker got more credit.
  void Lend() FRESHET_EXCLUDES(mutex_);
  // Notes that the worker's own server had a page for it.
  void OnServed() FRESHET_EXCLUDES(mutex_);
  // Stops lending. Lent credit is back at once, and pages that still arrive for it are given back.
  // Idempotent.
  void Recall() FRESHET_EXCLUDES(mutex_);

 private:
  // Another division.
  struct Debtor {
    uint32_t division = 0;
    uint64_t lent = 0;                   // the credit lent by the open call
    std::optional<Places::Place> place;  // the place of the open call
    bool asked = false;                  // whether a call is open
    bool late = false;                   // whether a call is open whose credit is back
    bool gives = false;                  // the last call brought pages
    Instant try_after;                   // when to ask it again, unless it `gives`
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
  // Takes back credit that is out for too long.
  void ForgetLate(Instant now) FRESHET_REQUIRES(mutex_);
  // Lends all credit to one division, if it is time for that.
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
  // Since when the worker's own server has had credit for it.
  std::optional<Instant> idle_since_ FRESHET_GUARDED_BY(mutex_);
  grpc::Alarm alarm_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_LENT_CREDIT_H_
