// What the crawls of somebody who decides by other means are worth, against what as many crawls
// could be: the question of whoever thinks of changing over.
#ifndef FRESHET_CORE_PLAN_CRAWL_COMPARISON_H_
#define FRESHET_CORE_PLAN_CRAWL_COMPARISON_H_

#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/crawl_value.h"
#include "core/model/page_statistics.h"

namespace freshet {

// Rates per one unit of time, any one, the same everywhere. Value type, thread-compatible.
struct ComparedPage {
  PaperRates rates;       // as believed
  double crawl_rate = 0;  // how often it is crawled
};

// Freshness is the share of requests served fresh, 0 .. 1. Value type, thread-compatible.
struct CrawlComparison {
  double crawl_rate = 0;  // of all pages together
  // Of the crawls as they are, taken as coming at equal intervals, which is the best that can be
  // said of them.
  double freshness = 0;
  // Of the optimum at the same rate (core/plan/continuous_optimum.h): of a crawler that heeds
  // signals, and of one that heeds none.
  double best = 0;
  double best_without_signals = 0;
  // The least rate at which the one that heeds signals is as fresh as the crawls are, to 0.1%; at
  // most crawl_rate.
  double rate_for_same = 0;
  std::vector<double> best_rate;  // of each page, of the one that heeds signals
};

// How often a page is crawled by the intervals between its last crawls, per second; the one that is
// under way, `open`, counts once it is longer than they are on average. 0: none is known.
[[nodiscard]] double ObservedCrawlRate(const PageStatistics& statistics, Duration open);

// InvalidArgument for rates out of the range of plans, and where no page is crawled, or none both
// matters and changes. Some hundred microseconds a page.
[[nodiscard]] StatusOr<CrawlComparison> CompareCrawls(std::span<const ComparedPage> pages);

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_CRAWL_COMPARISON_H_
