// The plan of Azar, Horvitz, Lubetzky, Peres and Shahaf ("Tractable near-optimal policies for
// crawling", PNAS 2018): the rates that maximise freshness if every page is crawled at equal
// intervals.
#ifndef FRESHET_CORE_PLAN_LDS_H_
#define FRESHET_CORE_PLAN_LDS_H_

#include "core/base/status.h"
#include "core/plan/parallel.h"
#include "core/plan/plan.h"

namespace freshet {

// Maximises sum_i mu/Delta rho (1 - e^(-Delta/rho)) subject to sum rho = R, rho >= 0. Signals are
// not used: pages with complete signals are polled, too.
//
// Optimality: mu/Delta P(2, Delta/rho) = Lambda if rho > 0, and mu/Delta <= Lambda if rho = 0
// (P(2, x) = 1 - (1 + x) e^-x, core/plan/equal_intervals). Given Lambda, every page is solved
// directly. Newton's method finds the Lambda that uses up R. The rates add up to R to within 1e-12
// relative, the KKT residual is about 1e-14, and three to five passes over the pages are made.
//
// R = 0: all rates 0, price max mu/Delta. No page with mu > 0 and Delta > 0: all rates 0, price 0
// (no crawl has a use). Equal pages get equal rates. Errors as ValidatePlanInput.
[[nodiscard]] StatusOr<RatePlan> PlanLds(const PlanPages& pages, double crawl_rate,
                                         const ParallelFor& parallel = SerialFor);

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_LDS_H_
