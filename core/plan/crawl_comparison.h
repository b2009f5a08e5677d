// Compares the freshness of given crawls, which another program has chosen, with the freshness of
// optimal crawls at the same rate. Operators who consider a switch to Freshet need this comparison.
#ifndef FRESHET_CORE_PLAN_CRAWL_COMPARISON_H_
#define FRESHET_CORE_PLAN_CRAWL_COMPARISON_H_

#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/crawl_value.h"
#include "core/model/page_statistics.h"

namespace freshet {

// A page and its present crawls. The unit of time is arbitrary, but the same for all rates.
// Value type, thread-compatible.
struct ComparedPage {
  PaperRates rates;       // the server's estimates
  double crawl_rate = 0;  // the page's present crawl rate
};

// Freshness is the share of requests that get a fresh copy, from 0 to 1.
// Value type, thread-compatible.
struct CrawlComparison {
  double crawl_rate = 0;  // present crawl rate of all pages together
  // Freshness with the present crawls. They are assumed to come at equal intervals, which is the
  // best case.
  double freshness = 0;
  // Freshness at the optimum for the same crawl rate, with signals and without them
  // (core/plan/continuous_optimum.h).
  double best = 0;
  double best_without_signals = 0;
  // The lowest rate at which the optimum with signals is as fresh as the present crawls. It is at
  // most crawl_rate, and accurate to 0.1%.
  double rate_for_same = 0;
  std::vector<double> best_rate;  // each page's rate in the optimum with signals
};

// The crawl rate of a page, per second, from the intervals between its last crawls. `open` is the
// time since the last crawl. It counts as another interval once it is longer than the mean
// interval. 0 = no interval is known.
[[nodiscard]] double ObservedCrawlRate(const PageStatistics& statistics, Duration open);

// Not OK: InvalidArgument if a rate is outside the range that core/plan/plan.h allows, if no page
// is crawled, or if no page has both importance and changes. Takes a few hundred microseconds per
// page.
[[nodiscard]] StatusOr<CrawlComparison> CompareCrawls(std::span<const ComparedPage> pages);

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_CRAWL_COMPARISON_H_
