// The accuracy at the continuous optimum of the papers, which is the baseline in their figures. In
// it, every page is crawled as soon as it is due, and the crawls keep to the crawl rate only on
// average.
#ifndef FRESHET_CORE_PLAN_CONTINUOUS_OPTIMUM_H_
#define FRESHET_CORE_PLAN_CONTINUOUS_OPTIMUM_H_

#include <vector>

#include "core/base/status.h"
#include "core/model/crawl_value.h"

namespace freshet {

// Value type, thread-compatible.
struct OptimalCrawls {
  std::vector<double> rate;  // of each page
  double accuracy = 0;       // share of requests that get a fresh copy
};

// The best plan with equal intervals that ignores signals (Azar et al.; core/plan/lds.h).
// `crawl_rate` must be positive and finite. Not OK: InvalidArgument if a rate is outside the range
// that core/plan/plan.h allows.
[[nodiscard]] StatusOr<OptimalCrawls> PlanWithoutSignals(const std::vector<PaperRates>& pages,
                                                         double crawl_rate);
// Returns only the accuracy of PlanWithoutSignals.
[[nodiscard]] StatusOr<double> PlainOptimum(const std::vector<PaperRates>& pages,
                                            double crawl_rate);

// The best threshold policy (Busa-Fekete et al., theorem 2): every page is crawled as soon as its
// value reaches the price. The price is chosen so that the crawls of all pages come at
// `crawl_rate` > 0 on average. If the sum of crawls jumps at this price (pages whose changes are
// all signalled), the policies on both sides of the jump are mixed. The accuracy is NaN if no page
// has importance. The relative error is 1e-9.
[[nodiscard]] OptimalCrawls PlanWithSignals(const std::vector<PaperRates>& pages,
                                            double crawl_rate);
// Returns only the accuracy of PlanWithSignals.
[[nodiscard]] double SignalOptimum(const std::vector<PaperRates>& pages, double crawl_rate);

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_CONTINUOUS_OPTIMUM_H_
