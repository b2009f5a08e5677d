// Predicts the freshness of a set of pages under another crawl rate, policy or source of signals.
// The prediction is based on the estimated rates of the pages. It is for operators who plan a
// crawler.
#ifndef FRESHET_LAB_SIM_WHAT_IF_H_
#define FRESHET_LAB_SIM_WHAT_IF_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/base/reservoir.h"
#include "core/base/status.h"
#include "core/model/crawl_value.h"

namespace freshet {

// A page with its estimated rates. Times are in days. Value type, thread-compatible.
struct WhatIfPage {
  PaperRates rates;  // all signals count as one source
  // The 95% interval of the change rate, if known: low < high, which may be infinite.
  double low = 0;
  double high = 0;  // high <= low = the rate is certain
};

using PageSample = Reservoir<WhatIfPage>;

// Value type, thread-compatible.
struct WhatIfOptions {
  double crawls_per_day = 0;  // of all pages together; 1e-12 .. 1e12
  uint64_t all_pages = 0;     // number of pages that the sample represents; >= its size
  // The curve shows these multiples of crawls_per_day; each is 1e-6 .. 1e6.
  std::vector<double> factors = {0.125, 0.25, 0.5, 1, 2, 4, 8};
  size_t draws = 40;         // random draws for the intervals; 2 .. 10,000
  double starve_days = 365;  // a page crawled more rarely starves; > 0
  uint64_t seed = 1;
  unsigned threads = 0;  // 0 = one per core
};

// The share of requests that are served fresh, 0 .. 1. Value type, thread-compatible.
struct FreshnessBand {
  double mean = 0;
  double low = 0;   // mean - 1.96 standard deviations of the draws, at least 0
  double high = 0;  // mean + 1.96 standard deviations, at most 1
};

// Value type, thread-compatible.
struct WhatIfRate {
  double crawls_per_day = 0;
  FreshnessBand with_signals;
  FreshnessBand without_signals;
};

// Value type, thread-compatible.
struct WhatIfPolicy {
  std::string name;
  double freshness = 0;
  double never = 0;     // pages with changes and importance that are never crawled
  double starving = 0;  // these, and pages crawled less than once in starve_days
};

// Value type, thread-compatible.
struct WhatIfAnswer {
  uint64_t pages = 0;
  size_t sampled = 0;
  double crawls_per_day = 0;
  double starve_days = 0;
  std::vector<WhatIfRate> curve;
  double with_signals = 0;
  double without_signals = 0;
  // The crawls per day with which the signals would not be needed; infinite = no number is enough.
  double crawls_without_signals = std::numeric_limits<double>::infinity();
  double gain_of_one_a_day = 0;     // gain in with_signals from one more crawl a day: the price
  double gain_of_one_a_second = 0;  // gain from one more crawl a second
  std::vector<WhatIfPolicy> policies;
};

// Predicts the freshness of the optimum at each rate, by SignalOptimum and PlanLds. Also predicts
// the freshness under each policy at the present rate: greedy_ncis (`default` with nothing to
// learn; a page whose value ends below the price is never crawled), then rate plans for the same
// rates. Assumes Poisson changes, prompt signals and no politeness, so real crawls reach less.
//
// Intervals: each draw takes every page's change rate from a gamma distribution with its mean and
// the standard deviation of its interval. If the pages are a sample, it draws as many of them with
// replacement. Errors that all pages share are not included.
//
// Calls `progress` with the finished share, one thread at a time. InvalidArgument: options are out
// of range, pages are invalid, or no page has both importance and changes.
[[nodiscard]] StatusOr<WhatIfAnswer> AskWhatIf(const std::vector<WhatIfPage>& pages,
                                               const WhatIfOptions& options,
                                               const std::function<void(double share)>& progress);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_WHAT_IF_H_
