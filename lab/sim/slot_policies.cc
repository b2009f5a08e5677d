#include "lab/sim/slot_policies.h"

#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/base/wrong_value.h"
#include "core/index/price_index.h"
#include "core/model/policy.h"
#include "core/plan/planner.h"
#include "core/plan/rate_columns.h"
#include "core/schedule/crawl_policy.h"
#include "fmt/format.h"
#include "lab/methods/learners.h"
#include "lab/sim/learner_policy.h"
#include "lab/sim/plan_execution.h"

namespace freshet {
namespace {

// The seconds of one unit of the paper's time. It is so long that a microsecond, the resolution of
// Instant, does not matter.
constexpr double kUnitSeconds = 1e6;
// greedy_ncis_d discards signals that arrive within this many slots after a crawl (the paper's
// figure 8).
constexpr double kDelaySlots = 5;

Instant InstantOf(double time) { return Instant() + Duration::FromSeconds(time * kUnitSeconds); }

PaperRates PerSecond(PaperRates rates) {
  rates.change_rate /= kUnitSeconds;
  rates.false_signal_rate /= kUnitSeconds;
  return rates;
}

// Picks the page of highest crawl value. It knows the true rates.
class ValuePolicy final : public SlotPolicy {
 public:
  ValuePolicy(Policy policy, const std::vector<PaperRates>& pages, double crawl_rate)
      : policy_(policy), delay_(kDelaySlots / crawl_rate), crawled_(pages.size(), 0.0) {
    for (uint32_t i = 0; i < pages.size(); ++i) {
      IndexEntry entry;
      entry.policy = policy;
      entry.rates = MakeIndexRates(pages[i].importance, RatesFromPaper(PerSecond(pages[i])));
      index_.Put(PageId(i), entry);
      jump_.push_back(ValueOf(entry).jump);
    }
  }

  void Signal(uint32_t page, double time) override {
    if (jump_[page] == 0 || !CountsSignal(policy_, time - crawled_[page], delay_)) return;
    const Instant now = InstantOf(time);
    index_.Restart(PageId(page), index_.ExponentOf(PageId(page), now) + jump_[page], now);
  }

  std::optional<uint32_t> Pick(double time) override {
    const Instant now = InstantOf(time);
    const auto best = index_.Best(now);
    CHECK(best.has_value(), "no page to pick");
    index_.Restart(best->page, 0, now);
    crawled_[best->page.value()] = time;
    return best->page.value();
  }

 private:
  Policy policy_;
  double delay_;
  std::vector<double> crawled_;
  std::vector<double> jump_;  // what a signal adds to the exponent
  PriceIndex index_;
};

class PlanPolicy final : public SlotPolicy {
 public:
  explicit PlanPolicy(PlanExecution execution) : execution_(std::move(execution)) {}

  void Signal(uint32_t page, double) override { execution_.Signal(page); }
  std::optional<uint32_t> Pick(double) override { return execution_.Pick(); }

 private:
  PlanExecution execution_;
};

StatusOr<std::unique_ptr<SlotPolicy>> MakePlanPolicy(PlanMethod method,
                                                     const std::vector<PaperRates>& pages,
                                                     double crawl_rate) {
  const RateColumns columns = ColumnsOf(pages);
  ASSIGN_OR_RETURN(const RatePlan plan, MakePlan(method, columns.pages(), crawl_rate));
  ASSIGN_OR_RETURN(PlanExecution execution, PlanExecution::Create(plan, crawl_rate));
  return std::make_unique<PlanPolicy>(std::move(execution));
}

}  // namespace

StatusOr<std::unique_ptr<SlotPolicy>> MakeSlotPolicy(const std::string& name,
                                                     const std::vector<PaperRates>& pages,
                                                     double crawl_rate) {
  const StatusOr<PlanMethod> method = ParsePlanMethod(name);
  if (method.ok()) return MakePlanPolicy(*method, pages, crawl_rate);
  const StatusOr<LearnerKind> learner = ParseLearner(name);
  if (learner.ok()) return MakeLearnerPolicy(*learner, pages, crawl_rate);
  const StatusOr<Policy> policy = ParsePolicy(name);
  if (policy.ok()) return std::make_unique<ValuePolicy>(*policy, pages, crawl_rate);
  if (name.starts_with("ncis_approx_")) return policy.status();
  std::vector<std::string> names;
  for (const std::string_view known : CrawlPolicyNames()) names.emplace_back(known);
  for (const std::string_view known : LearnerNames()) names.emplace_back(known);
  return InvalidArgument("--policy: {}", WrongName(name, "a policy", names));
}

}  // namespace freshet
