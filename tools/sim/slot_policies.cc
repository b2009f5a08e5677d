#include "tools/sim/slot_policies.h"

#include <deque>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/index/price_index.h"
#include "core/model/policy.h"
#include "core/plan/low_discrepancy.h"
#include "core/plan/planner.h"
#include "fmt/format.h"

namespace freshet {
namespace {

// One unit of the paper's time in seconds: so long that a microsecond, the grain of Instant, is
// nothing.
constexpr double kUnitSeconds = 1e6;
// greedy_ncis_d discards signals that arrive within this many slots of a crawl (the paper's figure
// 8).
constexpr double kDelaySlots = 5;

Instant InstantOf(double time) { return Instant() + Duration::FromSeconds(time * kUnitSeconds); }

PaperRates PerSecond(PaperRates rates) {
  rates.change_rate /= kUnitSeconds;
  rates.false_signal_rate /= kUnitSeconds;
  return rates;
}

// Picks the page of highest crawl value, knowing the true rates.
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

// Crawls every page at its planned rate or with its planned probability at a signal.
class PlanPolicy final : public SlotPolicy {
 public:
  PlanPolicy(LowDiscrepancySchedule schedule, std::vector<double> probability)
      : schedule_(std::move(schedule)),
        probability_(std::move(probability)),
        waits_(probability_.size(), 0) {}

  void Signal(uint32_t page, double) override {
    if (probability_.empty() || waits_[page] != 0) return;
    if (chance_.Uniform() >= probability_[page]) return;
    waits_[page] = 1;
    signalled_.push_back(page);
  }
  std::optional<uint32_t> Pick(double) override {
    if (!signalled_.empty()) {
      const uint32_t page = signalled_.front();
      signalled_.pop_front();
      waits_[page] = 0;
      return page;
    }
    const std::optional<size_t> page = schedule_.Next();
    if (!page.has_value()) return std::nullopt;
    return static_cast<uint32_t>(*page);
  }

 private:
  LowDiscrepancySchedule schedule_;
  std::vector<double> probability_;
  std::vector<uint8_t> waits_;
  std::deque<uint32_t> signalled_;
  Random chance_{1};  // whose signals are heeded
};

StatusOr<std::unique_ptr<SlotPolicy>> MakePlanPolicy(PlanMethod method,
                                                     const std::vector<PaperRates>& pages,
                                                     double crawl_rate) {
  const RateColumns columns = ColumnsOf(pages);
  ASSIGN_OR_RETURN(RatePlan plan, MakePlan(method, columns.pages(), crawl_rate));
  // Polled pages share the slots that signals leave.
  double polled = 0;
  for (const double rate : plan.rate) polled += rate;
  const bool signals = !plan.probability.empty();
  ASSIGN_OR_RETURN(
      LowDiscrepancySchedule schedule,
      LowDiscrepancySchedule::Create(plan.rate, signals && polled > 0 ? polled : crawl_rate));
  return std::make_unique<PlanPolicy>(std::move(schedule), std::move(plan.probability));
}

}  // namespace

RateColumns ColumnsOf(const std::vector<PaperRates>& pages) {
  RateColumns columns;
  for (const PaperRates& page : pages) {
    columns.importance.push_back(page.importance);
    columns.change_rate.push_back(page.change_rate);
    columns.complete.push_back(HasCompleteSignals(page) ? 1 : 0);
  }
  return columns;
}

StatusOr<std::unique_ptr<SlotPolicy>> MakeSlotPolicy(const std::string& name,
                                                     const std::vector<PaperRates>& pages,
                                                     double crawl_rate) {
  const StatusOr<PlanMethod> method = ParsePlanMethod(name);
  if (method.ok()) return MakePlanPolicy(*method, pages, crawl_rate);
  const StatusOr<Policy> policy = ParsePolicy(name);
  if (policy.ok()) return std::make_unique<ValuePolicy>(*policy, pages, crawl_rate);
  std::string plans;
  for (const PlanMethod plan : AllPlanMethods()) {
    plans += fmt::format("{}{}", plans.empty() ? "" : ", ", PlanMethodName(plan));
  }
  return InvalidArgument("{}; or a plan: {}", std::string(policy.status().message()), plans);
}

}  // namespace freshet
