// A rate plan: the crawl rate of each page under a fixed total rate, its cost, and its distance
// from the optimum of its objective.
//
// All rates are per any one unit of time, the same everywhere.
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

// The pages to plan for, column by column. The columns are not owned. Value type,
// thread-compatible.
struct PlanPages {
  std::span<const double> importance;   // mu: rate of requests, or any weight; 0 or 1e-60..1e60
  std::span<const double> change_rate;  // Delta: 0 or 1e-60..1e60
  // 1 = every change is signalled; empty = no page is complete
  std::span<const uint8_t> complete;

  [[nodiscard]] size_t size() const { return importance.size(); }
  [[nodiscard]] bool is_complete(size_t i) const { return !complete.empty() && complete[i] != 0; }
};

// The plan polls a page at its rate or, with complete signals, crawls it on each signal with its
// probability: the other number is 0. Crawls of page i per unit of time are rate[i] +
// probability[i] change_rate[i]. Value type, thread-compatible.
struct RatePlan {
  std::vector<double> rate;
  std::vector<double> probability;  // empty = no page is crawled on signals
  // Lambda: the gain of one more crawl per unit of time; 0 if the rate is more than can be used,
  // infinite if a first crawl would gain without bound, NaN for plans without objective.
  double price = std::numeric_limits<double>::quiet_NaN();
  // Sum over pages of crawls per unit of time. Equal to the given rate to 1e-12, relative, unless
  // fewer crawls are useful (price 0).
  double used = 0;
  // Largest relative violation of the Karush-Kuhn-Tucker conditions: |gain/price - 1| where a page
  // is strictly between its bounds, the part of it that points out of a bound where it is at one.
  // 0 for plans without objective.
  double kkt_residual = 0;
  int iterations = 0;  // passes over all pages until the price was found
};

// Numbers of a plan are 0 or in this range, so that no product of them overflows or vanishes.
inline constexpr double kSmallestPlanNumber = 1e-60;
inline constexpr double kLargestPlanNumber = 1e60;

// InvalidArgument, naming the first offending page, unless every column has the same size, every
// importance and change rate and the crawl rate is 0 or in the range above, and complete flags are
// 0 or 1.
[[nodiscard]] Status ValidatePlanInput(const PlanPages& pages, double crawl_rate,
                                       const ParallelFor& parallel = SerialFor);

// The times of crawls of a polled page: independent exponential times (LambdaCrawl, BLC), or even
// ones (lds, frontera; the low-discrepancy schedule).
enum class CrawlTimes : uint8_t { kPoisson, kEqualIntervals };

// The cost of a plan, per page as in model.md. Value type, thread-compatible.
//   j_h = (-sum mu ln(rho/(Delta + rho)) - sum mu ln p) / pages: harmonic penalty. Infinite when a
//         page with mu > 0 and Delta > 0 is never crawled.
//   j_b = (sum mu Delta/(Delta + rho) + sum mu (1 - p)) / pages: binary penalty. Both are those of
//         Poisson crawls, whatever the plan.
//   accuracy = share of requests served fresh: rho/(Delta + rho), for equal intervals
//         rho/Delta (1 - e^(-Delta/rho)), p, weighted by mu.
// A page that never changes costs nothing and is always fresh. Without pages all are NaN, and so
// is accuracy when no page has importance.
struct PlanCosts {
  double j_h = std::numeric_limits<double>::quiet_NaN();
  double j_b = std::numeric_limits<double>::quiet_NaN();
  double accuracy = std::numeric_limits<double>::quiet_NaN();
};
[[nodiscard]] PlanCosts ComputePlanCosts(const PlanPages& pages, const RatePlan& plan,
                                         CrawlTimes times, const ParallelFor& parallel = SerialFor);

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_PLAN_H_
