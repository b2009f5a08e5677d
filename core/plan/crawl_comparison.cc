#include "core/plan/crawl_comparison.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/plan/continuous_optimum.h"
#include "core/plan/plan.h"
#include "core/plan/rate_columns.h"

namespace freshet {
namespace {

constexpr double kLeastFactor = 1e-6;

// The factor by which the crawl rate can shrink until the optimum is only as fresh as the present
// crawls.
double FactorForSame(const std::vector<PaperRates>& rates, const CrawlComparison& comparison) {
  double low = std::log(kLeastFactor);
  double high = 0;
  while (high - low > 1e-3) {
    const double middle = (low + high) / 2;
    const double fresh = SignalOptimum(rates, comparison.crawl_rate * std::exp(middle));
    (fresh < comparison.freshness ? low : high) = middle;
  }
  DCHECK(high <= 0, "more crawls than there are");
  return std::exp(high);
}

}  // namespace

double ObservedCrawlRate(const PageStatistics& statistics, Duration open) {
  double seconds = 0;
  double intervals = 0;
  for (const CrawlObservation& observation : statistics.recent) {
    if (observation.elapsed <= Duration()) continue;
    seconds += observation.elapsed.seconds();
    ++intervals;
  }
  if (intervals == 0) return 0;
  const double waiting = std::max(0.0, open.seconds());
  return std::min(intervals / seconds, (intervals + 1) / (seconds + waiting));
}

StatusOr<CrawlComparison> CompareCrawls(std::span<const ComparedPage> pages) {
  CrawlComparison comparison;
  std::vector<PaperRates> rates;
  RatePlan actual;
  bool some = false;
  for (const ComparedPage& page : pages) {
    RETURN_IF_ERROR(ValidatePaperRates(page.rates));
    rates.push_back(page.rates);
    actual.rate.push_back(page.crawl_rate);
    comparison.crawl_rate += page.crawl_rate;
    some |= page.rates.importance > 0 && page.rates.change_rate > 0;
  }
  if (!some) return InvalidArgument("no page has both an importance and a change rate above 0");
  if (!(comparison.crawl_rate > 0)) return InvalidArgument("no page is crawled");
  const RateColumns columns = ColumnsOf(rates);
  RETURN_IF_ERROR(ValidatePlanInput(columns.polled(), comparison.crawl_rate));
  comparison.freshness =
      ComputePlanCosts(columns.polled(), actual, CrawlTimes::kEqualIntervals).accuracy;
  OptimalCrawls best = PlanWithSignals(rates, comparison.crawl_rate);
  comparison.best = best.accuracy;
  comparison.best_rate = std::move(best.rate);
  ASSIGN_OR_RETURN(comparison.best_without_signals, PlainOptimum(rates, comparison.crawl_rate));
  comparison.rate_for_same = comparison.crawl_rate * FactorForSame(rates, comparison);
  return comparison;
}

}  // namespace freshet
