// The recrawl objective of the Frontera crawl frontier's design notes: find as much new content as
// possible.
#ifndef FRESHET_CORE_PLAN_FRONTERA_H_
#define FRESHET_CORE_PLAN_FRONTERA_H_

#include <cstddef>

#include "core/base/status.h"
#include "core/plan/parallel.h"
#include "core/plan/plan.h"

namespace freshet {

// Maximises T = sum_i f_i w_i (1 - e^(-lambda_i/f_i)) subject to sum f = R, f >= 0; w = importance
// (value of one page of new content), lambda = change rate. R = N fbar in the notes' terms.
//
// Optimality: w P(2, lambda/f) = m where f > 0, w <= m where f = 0: so f = lambda g(w/m) with one
// function g, and a page of w <= m is never crawled, however often it changes. m is the price
// (-alpha/N of the notes). Solved like PlanLds, to the same accuracy; the notes' golden-section
// search on the multiplier is not needed. Misprints of the notes: the Newton form's b_i has the
// wrong sign on beta^2/2, and the cluster weight W[k] divides by K where it must divide by N.
//
// R = 0: all 0, price max w. No page with w > 0 and lambda > 0: all 0, price 0.
// Errors as ValidatePlanInput.
[[nodiscard]] StatusOr<RatePlan> PlanFrontera(const PlanPages& pages, double crawl_rate,
                                              const ParallelFor& parallel = SerialFor);

// The clustered form, for many pages. Since f/lambda depends on w alone, pages are put into
// `clusters` classes of nearly equal w (equal steps of ln w). Each class stands for its total
// lambda at its lambda-weighted mean w, and only the classes are solved; every page then gets its
// lambda times the class's f/lambda. Two passes over the pages for any number of solver steps, all
// of R used. Exact when pages of one class have equal w; else the loss in T is of second order in
// the step of ln w. The KKT residual is taken over pages, so it shows how coarse the classes are.
// Precondition: clusters >= 1.
[[nodiscard]] StatusOr<RatePlan> PlanFronteraClustered(const PlanPages& pages, double crawl_rate,
                                                       size_t clusters,
                                                       const ParallelFor& parallel = SerialFor);

// T above, for any plan of the same pages.
[[nodiscard]] double FronteraValue(const PlanPages& pages, const RatePlan& plan);

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_FRONTERA_H_
