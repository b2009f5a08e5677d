// A rate plan: the crawl rate of each page under a fixed total rate, the plan's cost, and its
// distance from the optimum of its objective.
//
// The unit of time is arbitrary, but the same for all rates.
#ifndef FRESHET_CORE_PLAN_PLAN_H_
#define FRESHET_CORE_PLAN_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/plan/parallel.h"

namespace freshet {

// The pages of a plan, column by column. The columns are not owned. Value type, thread-compatible.
struct PlanPages {
  std::span<const double> importance;   // mu: rate of requests, or any weight; 0 or 1e-60..1e60
  std::span<const double> change_rate;  // Delta: 0 or 1e-60..1e60
  // 1 = every change is signalled; empty = no page is complete
  std::span<const uint8_t> complete;

  [[nodiscard]] size_t size() const { return importance.size(); }
  [[nodiscard]] bool is_complete(size_t i) const { return !complete.empty() && complete[i] != 0; }
};

// The plan either polls a page at its rate or, if the page has complete signals, crawls it on each
// signal with its probability. The other number is 0. Page i gets rate[i] + probability[i]
// change_rate[i] crawls per unit of time. Value type, thread-compatible.
struct RatePlan {
  std::vector<double> rate;
  std::vector<double> probability;  // empty = no page is crawled on signals
  // Lambda: the gain of one more crawl per unit of time. 0 = crawls are left over; infinite = the
  // gain of a first crawl is unbounded; NaN = the plan has no objective.
  double price = std::numeric_limits<double>::quiet_NaN();
  // The sum over pages of crawls per unit of time. It equals the given rate to within 1e-12
  // relative, unless fewer crawls are useful (price 0).
  double used = 0;
  // The largest relative violation of the Karush-Kuhn-Tucker conditions. If a page is strictly
  // between its bounds, the violation is |gain/price - 1|. If the page is at a bound, only the part
  // that points beyond the bound counts. 0 for plans without an objective.
  double kkt_residual = 0;
  int iterations = 0;  // passes over all pages until the price was found
};

// The numbers of a plan are 0 or in this range, so that products of them neither overflow nor
// underflow.
inline constexpr double kSmallestPlanNumber = 1e-60;
inline constexpr double kLargestPlanNumber = 1e60;

// Not OK: InvalidArgument if the columns differ in size, if an importance, a change rate or the
// crawl rate is neither 0 nor in the range above, or if a complete flag is neither 0 nor 1. The
// message names the first bad page.
[[nodiscard]] Status ValidatePlanInput(const PlanPages& pages, double crawl_rate,
                                       const ParallelFor& parallel = SerialFor);

// When a polled page is crawled: at the times of a Poisson process (LambdaCrawl, BLC), or at equal
// intervals (lds, frontera; the low-discrepancy schedule).
enum class CrawlTimes : uint8_t { kPoisson, kEqualIntervals };

// The costs of a plan, per page as in docs/model.md. Value type, thread-compatible.
//   j_h = (-sum mu ln(rho/(Delta + rho)) - sum mu ln p) / pages: harmonic penalty. Infinite if a
//         page with mu > 0 and Delta > 0 is never crawled.
//   j_b = (sum mu Delta/(Delta + rho) + sum mu (1 - p)) / pages: binary penalty. Both penalties
//         assume Poisson crawls, whatever the plan.
//   accuracy = share of requests that get a fresh copy: the mean, weighted by mu, of
//         rho/(Delta + rho), for equal intervals rho/Delta (1 - e^(-Delta/rho)), or p.
// A page that never changes costs nothing and is always fresh. Without pages, all costs are NaN. If
// no page has importance, accuracy is NaN.
struct PlanCosts {
  double j_h = std::numeric_limits<double>::quiet_NaN();
  double j_b = std::numeric_limits<double>::quiet_NaN();
  double accuracy = std::numeric_limits<double>::quiet_NaN();
};
[[nodiscard]] PlanCosts ComputePlanCosts(const PlanPages& pages, const RatePlan& plan,
                                         CrawlTimes times, const ParallelFor& parallel = SerialFor);

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_PLAN_H_
