// The plan of Azar, Horvitz, Lubetzky, Peres and Shahaf ("Tractable near-optimal policies for
// crawling", PNAS 2018): the rates that maximise freshness if every page is crawled at equal
// intervals.
#ifndef FRESHET_CORE_PLAN_LDS_H_
#define FRESHET_CORE_PLAN_LDS_H_

#include "core/base/status.h"
#include "core/plan/parallel.h"
#include "core/plan/plan.h"

namespace freshet {

// Maximises sum_i mu/Delta rho (1 - e^(-Delta/rho)) subject to sum rho = R, rho >= 0, where mu is
// the importance of a page, Delta its change rate, rho its crawl rate, and R is `crawl_rate`.
// Signals are not used: pages with complete signals are polled, too.
//
// Let P(2, x) = 1 - (1 + x) e^-x (core/plan/equal_intervals). At the optimum, mu/Delta P(2,
// Delta/rho) = Lambda if rho > 0, and mu/Delta <= Lambda if rho = 0, where Lambda is the price.
// Given Lambda, the rate of each page follows directly. Newton's method finds the Lambda at which
// the rates add up to R. They add up to R to within 1e-12 relative, and the KKT residual is about
// 1e-14. Three to five passes over the pages are made.
//
// If R = 0, all rates are 0 and the price is max mu/Delta. If no page has mu > 0 and Delta > 0, all
// rates and the price are 0, because no crawl is useful. Equal pages get equal rates. Errors: those
// of ValidatePlanInput.
[[nodiscard]] StatusOr<RatePlan> PlanLds(const PlanPages& pages, double crawl_rate,
                                         const ParallelFor& parallel = SerialFor);

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_LDS_H_
