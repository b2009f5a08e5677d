// The estimate of a page. Value type, thread-compatible.
#ifndef FRESHET_CORE_ESTIMATE_PAGE_ESTIMATE_H_
#define FRESHET_CORE_ESTIMATE_PAGE_ESTIMATE_H_

#include <utility>

#include "core/model/page_rates.h"

namespace freshet {

// The rates and the staleness that an estimator believes a page to have.
struct PageEstimate {
  PageRates rates;
  double staleness = 0;  // of the state under these rates; infinite before the first crawl
  // The shape of the gamma distribution of the change rate; infinite = the rate is known.
  double shape = 0;
  double observations = 0;  // effective number of crawl intervals, after fading

  // Bounds of the 95% interval of the change rate, per second. Takes some microseconds.
  [[nodiscard]] std::pair<double, double> Interval95() const;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_PAGE_ESTIMATE_H_
