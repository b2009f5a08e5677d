#include "tools/sim/continuous_optimum.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/model/crossing.h"
#include "core/model/ncis_value.h"
#include "core/plan/lds.h"

namespace freshet {
namespace {

// All pages under one price.
struct PricedCrawls {
  double crawl_rate = 0;
  double fresh = 0;  // weighted by importance
};

class PricedPages {
 public:
  explicit PricedPages(const std::vector<PaperRates>& pages) {
    for (const PaperRates& page : pages) {
      importance_ += page.importance;
      const PageRates rates = RatesFromPaper(page);
      const ValueParameters value =
          MakeValueParameters({.kind = PolicyKind::kGreedyNcis}, page.importance, rates);
      if (value.ceiling > 0) {
        pages_.push_back({page.importance, rates, value});
        highest_ = std::max(highest_, value.ceiling);
      } else if (page.change_rate == 0) {
        always_fresh_ += page.importance;
      }
    }
  }

  [[nodiscard]] double importance() const { return importance_; }
  [[nodiscard]] double highest() const { return highest_; }
  [[nodiscard]] PricedCrawls At(double price) const {
    PricedCrawls sum{.fresh = always_fresh_};
    for (const auto& [importance, rates, value] : pages_) {
      const double s = ExponentReaching(value, price);
      if (std::isinf(s)) continue;
      const ThresholdOutcome outcome = EvaluateThreshold(rates, s);
      sum.crawl_rate += outcome.crawl_rate;
      sum.fresh += importance * outcome.fresh_time * outcome.crawl_rate;
    }
    return sum;
  }

 private:
  struct Page {
    double importance;
    PageRates rates;
    ValueParameters value;
  };
  std::vector<Page> pages_;
  double importance_ = 0;
  double always_fresh_ = 0;
  double highest_ = 0;  // no page is worth more
};

}  // namespace

StatusOr<PlainPlan> PlanWithoutSignals(const std::vector<PaperRates>& pages, double crawl_rate) {
  std::vector<double> importance;
  std::vector<double> change_rate;
  for (const PaperRates& page : pages) {
    importance.push_back(page.importance);
    change_rate.push_back(page.change_rate);
  }
  const PlanPages columns{.importance = importance, .change_rate = change_rate, .complete = {}};
  ASSIGN_OR_RETURN(RatePlan plan, PlanLds(columns, crawl_rate));
  const double accuracy = ComputePlanCosts(columns, plan, CrawlTimes::kEqualIntervals).accuracy;
  return PlainPlan{.rate = std::move(plan.rate), .accuracy = accuracy};
}

StatusOr<double> PlainOptimum(const std::vector<PaperRates>& pages, double crawl_rate) {
  ASSIGN_OR_RETURN(const PlainPlan plan, PlanWithoutSignals(pages, crawl_rate));
  return plan.accuracy;
}

double SignalOptimum(const std::vector<PaperRates>& pages, double crawl_rate) {
  CHECK(crawl_rate > 0, "crawl rate {}", crawl_rate);
  const PricedPages priced(pages);
  double high = priced.highest();  // too few crawls
  PricedCrawls few = priced.At(high);
  if (high == 0) return few.fresh / priced.importance();
  double low = high;  // too many
  PricedCrawls many = few;
  while (many.crawl_rate < crawl_rate) {
    low /= 8;
    // A price of nothing buys all that is of use.
    if (low < 1e-280) return many.fresh / priced.importance();
    many = priced.At(low);
  }
  while (high - low > 1e-10 * high) {
    const double middle = low + (high - low) / 2;
    const PricedCrawls at = priced.At(middle);
    if (at.crawl_rate < crawl_rate) {
      high = middle;
      few = at;
    } else {
      low = middle;
      many = at;
    }
  }
  const double between = many.crawl_rate - few.crawl_rate;
  const double share = between > 0 ? (crawl_rate - few.crawl_rate) / between : 1;
  return (few.fresh + share * (many.fresh - few.fresh)) / priced.importance();
}

}  // namespace freshet
