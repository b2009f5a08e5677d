// What a worker's credit brings from the divisions of a fleet that other servers serve: each has an
// equal share of it, as a call of Next on the worker's behalf, which brings pages or gives the
// share back. So workers take pages of all divisions wherever they are connected, and those decide
// by their parts of the crawl rate, whose prices are one, how many of each.
#ifndef FRESHET_SERVER_API_LENT_CREDIT_H_
#define FRESHET_SERVER_API_LENT_CREDIT_H_

#include <grpcpp/alarm.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/random.h"
#include "core/base/units.h"
#include "freshet/v1/scheduler.pb.h"
#include "server/api/context.h"
#include "server/api/divisions.h"
#include "server/auth/on_behalf.h"
#include "server/engine/turn_queue.h"
#include "sync/mutex.h"

namespace freshet {

// Thread-safe. `context` outlives this.
class LentCredit : public std::enable_shared_from_this<LentCredit> {
 public:
  // A worker whose credit is less than one for each division lends all of it to one of them or
  // keeps it, by chance, as long as those have had pages for it; and surely where its own server
  // has had nothing for it for so long. It is lent for as long.
  static constexpr Duration kIdle = Duration::Seconds(1);
  // One that had nothing is tried again after so long, and for so long: it may have no part of the
  // crawl rate before somebody asks it for pages.
  static constexpr Duration kTryAfter = Duration::Seconds(10);
  static constexpr Duration kTryFor = Duration::Seconds(4);
  // A share is lent for so long at a time.
  static constexpr Duration kLentFor = Duration::Seconds(2);
  // After a call that failed, or while assignments are paused. A call that is not answered so long
  // after its time, as nobody serves, is not waited for: the credit is back.
  static constexpr Duration kRest = Duration::Seconds(1);

  // Assignments of another division. Called without locks of this.
  using Deliver = std::function<void(uint32_t division, const v1::NextResponse&)>;

  // `terms`: what the calls are to say of the worker. `client`: on whose behalf.
  LentCredit(const ServerContext& context, ShownByClient client, v1::NextRequest terms,
             WorkerId worker, Deliver deliver);
  // Begins, and looks again from time to time.
  void Start();
  // Lends what there is to be lent: the worker has more credit.
  void Lend() FRESHET_EXCLUDES(mutex_);
  // Its own server had a page for it.
  void OnServed() FRESHET_EXCLUDES(mutex_);
  // Lends nothing more. What is lent is back at once, and pages that come for it all the same are
  // given back. Idempotent.
  void Recall() FRESHET_EXCLUDES(mutex_);

 private:
  // Another division.
  struct Debtor {
    uint32_t division = 0;
    uint64_t lent = 0;   // by the call that is out
    bool asked = false;  // there is one
    bool late = false;   // and its credit is back
    bool gives = false;  // the last call brought pages
    Instant try_after;   // else
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
  // Takes back what is out for too long.
  void ForgetLate(Instant now) FRESHET_REQUIRES(mutex_);
  // All credit to one of them, if it is time for that.
  [[nodiscard]] std::optional<Call> WholeCredit(uint64_t free, Instant now)
      FRESHET_REQUIRES(mutex_);
  void Make(const Call& call);
  void OnAnswer(size_t debtor, const StatusOr<grpc::ByteBuffer>& answer) FRESHET_EXCLUDES(mutex_);

  const ServerContext& context_;
  const ShownByClient client_;
  const v1::NextRequest terms_;
  const WorkerId worker_;
  const Deliver deliver_;
  Mutex mutex_;
  bool recalled_ FRESHET_GUARDED_BY(mutex_) = false;
  std::vector<Debtor> debtors_ FRESHET_GUARDED_BY(mutex_);
  Random random_ FRESHET_GUARDED_BY(mutex_);
  // Since when its own server has credit of it.
  std::optional<Instant> idle_since_ FRESHET_GUARDED_BY(mutex_);
  grpc::Alarm alarm_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_LENT_CREDIT_H_
