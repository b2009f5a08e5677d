// The accuracy at the continuous optimum of the papers, the baseline in their figures. Crawls come
// whenever they are due, and keep to the crawl rate only on average.
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

// The best equal intervals without signals (Azar et al.; core/plan/lds.h). `crawl_rate` must be
// positive and finite. InvalidArgument if a rate is outside the range of plans.
[[nodiscard]] StatusOr<OptimalCrawls> PlanWithoutSignals(const std::vector<PaperRates>& pages,
                                                         double crawl_rate);
// Only the accuracy of that plan.
[[nodiscard]] StatusOr<double> PlainOptimum(const std::vector<PaperRates>& pages,
                                            double crawl_rate);

// The best threshold policy (Busa-Fekete et al., theorem 2): every page is crawled as soon as its
// value reaches the price. The price is chosen so that the crawls of all pages come at
// `crawl_rate` > 0 on average. If the sum of crawls jumps at this price (pages whose changes are
// all signalled), the policies on both sides of the jump are mixed. The accuracy is NaN if no page
// has importance. The relative error is 1e-9.
[[nodiscard]] OptimalCrawls PlanWithSignals(const std::vector<PaperRates>& pages,
                                            double crawl_rate);
// Only the accuracy of that plan.
[[nodiscard]] double SignalOptimum(const std::vector<PaperRates>& pages, double crawl_rate);

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_CONTINUOUS_OPTIMUM_H_
