// What another crawl rate, another policy or another source of signals would make of a set of
// pages, by what is known of their rates: the questions of whoever plans for a crawler.
#ifndef FRESHET_TOOLS_SIM_WHAT_IF_H_
#define FRESHET_TOOLS_SIM_WHAT_IF_H_

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

// A page as it is believed to be. Times are in days. Value type, thread-compatible.
struct WhatIfPage {
  PaperRates rates;  // all signals taken as of one source
  // The 95% interval of the change rate, as far as it is known: low < high, which may be infinite.
  double low = 0;
  double high = 0;  // not above low: the rate is taken as certain
};

using PageSample = Reservoir<WhatIfPage>;

// Value type, thread-compatible.
struct WhatIfOptions {
  double crawls_per_day = 0;  // of all pages together; 1e-12 .. 1e12
  uint64_t all_pages = 0;     // that the pages given stand for; >= their number
  // The curve's rates: crawls_per_day times each of these; 1e-6 .. 1e6.
  std::vector<double> factors = {0.125, 0.25, 0.5, 1, 2, 4, 8};
  size_t draws = 40;         // for the intervals; 2 .. 10,000
  double starve_days = 365;  // crawled more rarely than that: it starves; > 0
  uint64_t seed = 1;
  unsigned threads = 0;  // 0: one a core
};

// Share of requests served fresh, 0 .. 1. Value type, thread-compatible.
struct FreshnessBand {
  double mean = 0;
  double low = 0;   // mean less 1.96 standard deviations of the draws, and at least 0
  double high = 0;  // and more, at most 1
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
  double never = 0;     // pages that can change and matter, and are not crawled
  double starving = 0;  // those, and those that are crawled less than once in starve_days
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
  // Crawls a day that would make up for the signals; infinite where none do.
  double crawls_without_signals = std::numeric_limits<double>::infinity();
  double gain_of_one_a_day = 0;     // what one crawl a day more adds to with_signals: the price
  double gain_of_one_a_second = 0;  // and one a second
  std::vector<WhatIfPolicy> policies;
};

// The freshness of the optimum at each rate, as SignalOptimum and PlanLds give it, and under each
// policy at the present rate: greedy_ncis (what `default` would do if it had nothing to learn; a
// page is never crawled whose value ends below the price), then rate plans as they would be made of
// the same rates. Pages are Poisson, signals prompt and politeness free, so real crawls reach less.
//
// Intervals: each draw takes every page's change rate from a gamma distribution of its mean and of
// the standard deviation that its interval has, and, where the pages are a sample, as many pages of
// it with replacement. Errors that all pages share are not in it.
//
// `progress` gets the share that is done, from one thread at a time. InvalidArgument for options
// out of range, for pages that are none, and where none both matters and changes.
[[nodiscard]] StatusOr<WhatIfAnswer> AskWhatIf(const std::vector<WhatIfPage>& pages,
                                               const WhatIfOptions& options,
                                               const std::function<void(double share)>& progress);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_WHAT_IF_H_
