#include "lab/sim/learner_policy.h"

#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/plan/rate_columns.h"
#include "lab/sim/plan_execution.h"
#include "lab/sim/slot_policies.h"

namespace freshet {
namespace {

// Observations are valid, and so are the learner's own plans, so these calls cannot fail.
void Expect(const Status& status) { CHECK(status.ok(), "{}", std::string(status.message())); }

class LearnerPolicy final : public SlotPolicy {
 public:
  LearnerPolicy(Learner learner, PlanExecution execution, std::vector<uint8_t> complete,
                double crawl_rate, double epoch)
      : learner_(std::move(learner)),
        execution_(std::move(execution)),
        complete_(std::move(complete)),
        crawl_rate_(crawl_rate),
        epoch_(epoch),
        epoch_end_(epoch),
        crawled_(complete_.size(), 0.0),
        signals_(complete_.size(), 0.0) {}

  void Signal(uint32_t page, double time) override {
    EndEpochs(time);
    if (!HeedsSignals(page)) return;
    signals_[page] += 1;
    execution_.Signal(page);
  }
  std::optional<uint32_t> Pick(double time) override {
    EndEpochs(time);
    return execution_.Pick();
  }
  void Crawled(uint32_t page, double time, bool changed) override {
    const double elapsed = time - crawled_[page];
    crawled_[page] = time;
    // For pages with complete signals, the signals carry more information than crawls.
    if (HeedsSignals(page)) return;
    Expect(learner_.ObserveCrawl(page, elapsed, changed));
  }

 private:
  [[nodiscard]] bool HeedsSignals(uint32_t page) const {
    return complete_[page] != 0 && !learner_.plan().probability.empty();
  }
  void EndEpochs(double time) {
    while (time > epoch_end_) {
      for (uint32_t page = 0; page < complete_.size(); ++page) {
        if (!HeedsSignals(page)) continue;
        Expect(learner_.ObserveSignals(page, epoch_, signals_[page]));
        signals_[page] = 0;
      }
      learner_.EndEpoch();
      Expect(execution_.Replan(learner_.plan(), crawl_rate_));
      epoch_end_ += epoch_;
    }
  }

  Learner learner_;
  PlanExecution execution_;
  std::vector<uint8_t> complete_;
  double crawl_rate_;
  double epoch_;
  double epoch_end_;
  std::vector<double> crawled_;
  std::vector<double> signals_;  // signals of this epoch, if used
};

}  // namespace

StatusOr<std::unique_ptr<SlotPolicy>> MakeLearnerPolicy(LearnerKind kind,
                                                        const std::vector<PaperRates>& pages,
                                                        double crawl_rate) {
  RateColumns columns = ColumnsOf(pages);
  std::vector<uint8_t> complete = columns.complete;
  ASSIGN_OR_RETURN(Learner learner,
                   Learner::Create(std::move(columns.importance), std::move(columns.complete),
                                   {.kind = kind, .crawl_rate = crawl_rate}));
  ASSIGN_OR_RETURN(PlanExecution execution, PlanExecution::Create(learner.plan(), crawl_rate));
  const bool explores = kind == LearnerKind::kExploreCommit || kind == LearnerKind::kEpsGreedy;
  const double round = static_cast<double>(pages.size()) / crawl_rate;
  return std::make_unique<LearnerPolicy>(std::move(learner), std::move(execution),
                                         std::move(complete), crawl_rate,
                                         explores ? 10 * round : round);
}

}  // namespace freshet
