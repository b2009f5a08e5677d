// What crawling at the papers' continuous optimum reaches: the baselines of their figures. Crawls
// there come whenever they are due and keep to the crawl rate in the mean only.
#ifndef FRESHET_CORE_PLAN_CONTINUOUS_OPTIMUM_H_
#define FRESHET_CORE_PLAN_CONTINUOUS_OPTIMUM_H_

#include <vector>

#include "core/base/status.h"
#include "core/model/crawl_value.h"

namespace freshet {

// Value type, thread-compatible.
struct OptimalCrawls {
  std::vector<double> rate;  // of each page
  double accuracy = 0;       // share of requests served fresh
};

// The best equal intervals if nobody heeds signals (Azar et al.; core/plan/lds.h).
// `crawl_rate` is positive and finite. InvalidArgument for rates out of the range of plans.
[[nodiscard]] StatusOr<OptimalCrawls> PlanWithoutSignals(const std::vector<PaperRates>& pages,
                                                         double crawl_rate);
// Its accuracy alone.
[[nodiscard]] StatusOr<double> PlainOptimum(const std::vector<PaperRates>& pages,
                                            double crawl_rate);

// The same for the best threshold policy (Busa-Fekete et al., theorem 2): every page is crawled as
// soon as its value reaches one price, and the price is such that crawls come to `crawl_rate` > 0
// in the mean. Where the sum of crawls jumps at that price (pages whose changes are all signalled),
// the policies at both sides are mixed. The accuracy is NaN if no page has importance; 1e-9
// relative.
[[nodiscard]] OptimalCrawls PlanWithSignals(const std::vector<PaperRates>& pages,
                                            double crawl_rate);
// Its accuracy alone.
[[nodiscard]] double SignalOptimum(const std::vector<PaperRates>& pages, double crawl_rate);

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_CONTINUOUS_OPTIMUM_H_
