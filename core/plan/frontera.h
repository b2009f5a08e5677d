// The recrawl objective from the design notes of the Frontera crawl frontier: find as much new
// content as possible.
#ifndef FRESHET_CORE_PLAN_FRONTERA_H_
#define FRESHET_CORE_PLAN_FRONTERA_H_

#include <cstddef>

#include "core/base/status.h"
#include "core/plan/parallel.h"
#include "core/plan/plan.h"

namespace freshet {

// Maximises T = sum_i f_i w_i (1 - e^(-lambda_i/f_i)) subject to sum f = R, f >= 0. w is the
// importance (value of one page of new content), and lambda is the change rate. R is `crawl_rate`,
// which is N fbar in the notes.
//
// Optimality: w P(2, lambda/f) = m if f > 0, and w <= m if f = 0. Hence f = lambda g(w/m) with the
// same function g for all pages. A page with w <= m is never crawled, however often it changes. m
// is the price (-alpha/N in the notes). The plan is solved like PlanLds, to the same accuracy. The
// golden-section search in the notes is not needed. The notes have two misprints: in the Newton
// form, b_i has the wrong sign on beta^2/2, and the cluster weight W[k] divides by K instead of N.
//
// If R = 0, all rates are 0 and the price is max w. If no page has w > 0 and lambda > 0, all rates
// and the price are 0. Errors: those of ValidatePlanInput.
[[nodiscard]] StatusOr<RatePlan> PlanFrontera(const PlanPages& pages, double crawl_rate,
                                              const ParallelFor& parallel = SerialFor);

// The clustered form, for many pages. Since f/lambda depends only on w, pages are put into
// `clusters` classes of nearly equal w (equal steps of ln w). Each class has the total lambda of
// its pages, and their lambda-weighted mean w. Only the classes are solved. Every page then gets
// its lambda times the f/lambda of its class. This takes two passes over the pages for any number
// of solver steps, and uses all of R. The result is exact if the pages of each class have equal w.
// Otherwise the loss in T is of second order in the step of ln w. The KKT residual is taken over
// pages, so it shows how coarse the classes are. Precondition: clusters >= 1.
[[nodiscard]] StatusOr<RatePlan> PlanFronteraClustered(const PlanPages& pages, double crawl_rate,
                                                       size_t clusters,
                                                       const ParallelFor& parallel = SerialFor);

// T as defined above, for any plan of the same pages.
[[nodiscard]] double FronteraValue(const PlanPages& pages, const RatePlan& plan);

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_FRONTERA_H_
