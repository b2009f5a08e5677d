// The accuracy of crawling at the papers' continuous optimum: the baselines of their figures.
// Crawls come whenever they are due and keep to the crawl rate only in the mean.
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

// The best equal intervals without use of signals (Azar et al.; core/plan/lds.h). `crawl_rate` is
// positive and finite. InvalidArgument for rates out of the range of plans.
[[nodiscard]] StatusOr<OptimalCrawls> PlanWithoutSignals(const std::vector<PaperRates>& pages,
                                                         double crawl_rate);
// Only the accuracy of that plan.
[[nodiscard]] StatusOr<double> PlainOptimum(const std::vector<PaperRates>& pages,
                                            double crawl_rate);

// The best threshold policy (Busa-Fekete et al., theorem 2): every page is crawled as soon as its
// value reaches one price, at which crawls come to `crawl_rate` > 0 in the mean. Where the sum of
// crawls jumps at that price (pages whose changes are all signalled), the policies at both sides
// are mixed. The accuracy is NaN if no page has importance; 1e-9 relative.
[[nodiscard]] OptimalCrawls PlanWithSignals(const std::vector<PaperRates>& pages,
                                            double crawl_rate);
// Only the accuracy of that plan.
[[nodiscard]] double SignalOptimum(const std::vector<PaperRates>& pages, double crawl_rate);

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_CONTINUOUS_OPTIMUM_H_
