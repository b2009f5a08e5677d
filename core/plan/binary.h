// Plans for the binary penalty (a request is fresh or not) when crawls come at Poisson times, and
// the two plans without an objective to compare with.
#ifndef FRESHET_CORE_PLAN_BINARY_H_
#define FRESHET_CORE_PLAN_BINARY_H_

#include "core/base/status.h"
#include "core/plan/parallel.h"
#include "core/plan/plan.h"

namespace freshet {

// BLC: minimises sum mu Delta/(Delta + rho) subject to sum rho = R, rho >= 0. Signals are not used.
//
// Optimality: rho = max(0, sqrt(mu Delta/Lambda) - Delta). The sum of rates is convex and piecewise
// linear in 1/sqrt(Lambda), so Newton's method ends on the exact solution after a few steps. Pages
// with mu/Delta <= Lambda starve, at any rate most often half of them.
//
// R = 0: all 0, price max mu/Delta. No page with mu > 0 and Delta > 0: all 0, price 0.
// Errors as ValidatePlanInput.
[[nodiscard]] StatusOr<RatePlan> PlanBlc(const PlanPages& pages, double crawl_rate,
                                         const ParallelFor& parallel = SerialFor);

// The same with a floor: rho >= epsilon R/m for every one of the m pages, of no importance or not.
// The supplement of the paper raises starved pages once and re-solves the rest, which can starve
// pages again; this solves the problem with the floor exactly: rho = max(floor,
// sqrt(mu Delta/Lambda) - Delta). epsilon = 0 is PlanBlc, 1 is PlanUniform (with a price: the
// largest gain at the floor). InvalidArgument unless 0 <= epsilon <= 1.
[[nodiscard]] StatusOr<RatePlan> PlanBlcWithFloor(const PlanPages& pages, double crawl_rate,
                                                  double epsilon,
                                                  const ParallelFor& parallel = SerialFor);

// rho = R/m for every page.
[[nodiscard]] StatusOr<RatePlan> PlanUniform(const PlanPages& pages, double crawl_rate,
                                             const ParallelFor& parallel = SerialFor);

// rho proportional to Delta; all 0 when no page changes.
[[nodiscard]] StatusOr<RatePlan> PlanChangeRate(const PlanPages& pages, double crawl_rate,
                                                const ParallelFor& parallel = SerialFor);

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_BINARY_H_
