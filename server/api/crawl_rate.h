// The crawl rate of a server that does not share its rate with other servers.
#ifndef FRESHET_SERVER_API_CRAWL_RATE_H_
#define FRESHET_SERVER_API_CRAWL_RATE_H_

#include "server/api/rate_sharing.h"
#include "server/engine/dispatcher.h"
#include "server/engine/plan_runner.h"

namespace freshet {

// Thread-safe.
class OwnRate final : public RateSharing {
 public:
  // `dispatcher` and `plans` outlive this object.
  OwnRate(Dispatcher& dispatcher, PlanRunner& plans) : dispatcher_(dispatcher), plans_(plans) {}

  [[nodiscard]] Rate total() const override { return dispatcher_.rate(); }
  Rate SetTotal(Rate rate) override {
    const Rate before = dispatcher_.SetRate(rate);
    plans_.Poke();
    return before;
  }
  void Hear(const v1::ShareRateRequest& /*report*/, Answered answered) override {
    answered(MakeStatus(absl::StatusCode::kFailedPrecondition, "this server shares no rate"));
  }
  [[nodiscard]] RateSharingStatus status() const override { return {}; }

 private:
  Dispatcher& dispatcher_;
  PlanRunner& plans_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CRAWL_RATE_H_
