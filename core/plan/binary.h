// Plans for the binary penalty (a request gets a fresh copy or not) with crawls at Poisson times.
// Also two plans without an objective, for comparison.
#ifndef FRESHET_CORE_PLAN_BINARY_H_
#define FRESHET_CORE_PLAN_BINARY_H_

#include "core/base/status.h"
#include "core/plan/parallel.h"
#include "core/plan/plan.h"

namespace freshet {

// BLC: minimises sum mu Delta/(Delta + rho) subject to sum rho = R, rho >= 0, where R is
// `crawl_rate`. Signals are not used.
//
// Optimality: rho = max(0, sqrt(mu Delta/Lambda) - Delta). The sum of rates is convex and piecewise
// linear in 1/sqrt(Lambda), so Newton's method reaches the exact solution in a few steps. Pages
// with mu/Delta <= Lambda starve. Usually these are about half of all pages, whatever the crawl
// rate.
//
// If R = 0, all rates are 0 and the price is max mu/Delta. If no page has mu > 0 and Delta > 0, all
// rates and the price are 0. Errors: those of ValidatePlanInput.
[[nodiscard]] StatusOr<RatePlan> PlanBlc(const PlanPages& pages, double crawl_rate,
                                         const ParallelFor& parallel = SerialFor);

// BLC with a floor: rho >= epsilon R/m for each of the m pages, even if its importance is 0. The
// supplement of the LambdaCrawl paper (core/plan/lambda_crawl.h) raises starved pages to the floor
// once and solves again for the rest, which can starve other pages. This function solves the
// problem with the floor exactly: rho = max(floor, sqrt(mu Delta/Lambda) - Delta). epsilon = 0
// gives PlanBlc. epsilon = 1 gives PlanUniform, but with a price: the largest gain at the floor.
// InvalidArgument unless 0 <= epsilon <= 1.
[[nodiscard]] StatusOr<RatePlan> PlanBlcWithFloor(const PlanPages& pages, double crawl_rate,
                                                  double epsilon,
                                                  const ParallelFor& parallel = SerialFor);

// rho = R/m for every page.
[[nodiscard]] StatusOr<RatePlan> PlanUniform(const PlanPages& pages, double crawl_rate,
                                             const ParallelFor& parallel = SerialFor);

// rho proportional to Delta. All rates are 0 if no page changes.
[[nodiscard]] StatusOr<RatePlan> PlanChangeRate(const PlanPages& pages, double crawl_rate,
                                                const ParallelFor& parallel = SerialFor);

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_BINARY_H_
