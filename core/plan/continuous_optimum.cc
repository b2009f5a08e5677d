#include "core/plan/continuous_optimum.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/model/crossing.h"
#include "core/model/ncis_value.h"
#include "core/plan/lds.h"
#include "core/plan/plan.h"
#include "core/plan/rate_columns.h"

namespace freshet {
namespace {

// The sums over all pages at one price.
struct PricedCrawls {
  double crawl_rate = 0;
  double fresh = 0;  // fresh requests, weighted by importance
};

class PricedPages {
 public:
  explicit PricedPages(const std::vector<PaperRates>& pages) {
    for (size_t i = 0; i < pages.size(); ++i) {
      const PaperRates& page = pages[i];
      importance_ += page.importance;
      const PageRates rates = RatesFromPaper(page);
      const ValueParameters value =
          MakeValueParameters({.kind = PolicyKind::kGreedyNcis}, page.importance, rates);
      if (value.ceiling > 0) {
        pages_.push_back({i, page.importance, rates, value});
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
    for (const Page& page : pages_) {
      const ThresholdOutcome outcome = OutcomeOf(page, price);
      sum.crawl_rate += outcome.crawl_rate;
      sum.fresh += page.importance * outcome.fresh_time * outcome.crawl_rate;
    }
    return sum;
  }
  // Adds `share` of each page's crawl rate at `price` to `rate`.
  void AddRates(double price, double share, std::vector<double>& rate) const {
    for (const Page& page : pages_) {
      rate[page.number] += share * OutcomeOf(page, price).crawl_rate;
    }
  }

 private:
  struct Page {
    size_t number;
    double importance;
    PageRates rates;
    ValueParameters value;
  };
  static ThresholdOutcome OutcomeOf(const Page& page, double price) {
    const double s = ExponentReaching(page.value, price);
    return std::isinf(s) ? ThresholdOutcome{} : EvaluateThreshold(page.rates, s);
  }

  std::vector<Page> pages_;
  double importance_ = 0;
  double always_fresh_ = 0;
  double highest_ = 0;  // above this price no page is crawled
};

}  // namespace

StatusOr<OptimalCrawls> PlanWithoutSignals(const std::vector<PaperRates>& pages,
                                           double crawl_rate) {
  const RateColumns all = ColumnsOf(pages);
  const PlanPages columns = all.polled();
  ASSIGN_OR_RETURN(RatePlan plan, PlanLds(columns, crawl_rate));
  const double accuracy = ComputePlanCosts(columns, plan, CrawlTimes::kEqualIntervals).accuracy;
  return OptimalCrawls{.rate = std::move(plan.rate), .accuracy = accuracy};
}

StatusOr<double> PlainOptimum(const std::vector<PaperRates>& pages, double crawl_rate) {
  ASSIGN_OR_RETURN(const OptimalCrawls plan, PlanWithoutSignals(pages, crawl_rate));
  return plan.accuracy;
}

OptimalCrawls PlanWithSignals(const std::vector<PaperRates>& pages, double crawl_rate) {
  CHECK(crawl_rate > 0, "crawl rate {}", crawl_rate);
  const PricedPages priced(pages);
  OptimalCrawls plan{.rate = std::vector<double>(pages.size())};
  double high = priced.highest();  // a price with too few crawls
  PricedCrawls few = priced.At(high);
  plan.accuracy = few.fresh / priced.importance();
  if (high == 0) return plan;
  double low = high;  // a price with too many crawls
  PricedCrawls many = few;
  while (many.crawl_rate < crawl_rate) {
    low /= 8;
    if (low < 1e-280) {
      // There are fewer useful crawls than `crawl_rate` allows, even at a price near 0.
      priced.AddRates(low * 8, 1, plan.rate);
      plan.accuracy = many.fresh / priced.importance();
      return plan;
    }
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
  priced.AddRates(high, 1 - share, plan.rate);
  priced.AddRates(low, share, plan.rate);
  plan.accuracy = (few.fresh + share * (many.fresh - few.fresh)) / priced.importance();
  return plan;
}

double SignalOptimum(const std::vector<PaperRates>& pages, double crawl_rate) {
  return PlanWithSignals(pages, crawl_rate).accuracy;
}

}  // namespace freshet
