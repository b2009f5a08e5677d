// Compares the freshness of given crawls, chosen by other means, with that of as many optimal
// crawls: the question of operators who consider a switch.
#ifndef FRESHET_CORE_PLAN_CRAWL_COMPARISON_H_
#define FRESHET_CORE_PLAN_CRAWL_COMPARISON_H_

#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/crawl_value.h"
#include "core/model/page_statistics.h"

namespace freshet {

// A page and its present crawls. Rates are per any one unit of time, the same everywhere. Value
// type, thread-compatible.
struct ComparedPage {
  PaperRates rates;       // the rates that the server believes
  double crawl_rate = 0;  // the present crawls of this page
};

// Freshness is the share of requests served fresh, 0 .. 1. Value type, thread-compatible.
struct CrawlComparison {
  double crawl_rate = 0;  // the present crawls of all pages
  // With the present crawls, assumed to come at equal intervals, which is the best case.
  double freshness = 0;
  // At the optimum of the same rate (core/plan/continuous_optimum.h): with signals, and without.
  double best = 0;
  double best_without_signals = 0;
  // The least rate at which the optimum with signals is as fresh as the present crawls, to 0.1%; at
  // most crawl_rate.
  double rate_for_same = 0;
  std::vector<double> best_rate;  // each page's rate in the optimum with signals
};

// The crawl rate of a page, per second, by the intervals between its last crawls; the `open`
// interval counts once it is longer than their mean. 0 = no interval is known.
[[nodiscard]] double ObservedCrawlRate(const PageStatistics& statistics, Duration open);

// InvalidArgument for rates out of the range of plans, and if no page is crawled, or none has both
// importance and changes. Some hundred microseconds a page.
[[nodiscard]] StatusOr<CrawlComparison> CompareCrawls(std::span<const ComparedPage> pages);

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_CRAWL_COMPARISON_H_
