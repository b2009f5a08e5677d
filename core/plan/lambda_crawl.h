// LambdaCrawl (Kolobov, Peres, Lu, Horvitz: "Staying up to Date with Online Content Changes Using
// Reinforcement Learning for Scheduling", NeurIPS 2019). These plans minimise the harmonic penalty,
// which grows without bound while a page stays stale, so no page starves. Crawls come at Poisson
// times. Pages with complete signals are instead crawled on each signal with some probability.
#ifndef FRESHET_CORE_PLAN_LAMBDA_CRAWL_H_
#define FRESHET_CORE_PLAN_LAMBDA_CRAWL_H_

#include "core/base/status.h"
#include "core/plan/parallel.h"
#include "core/plan/plan.h"

namespace freshet {

// LC: minimises the sum of -mu ln(rho/(Delta + rho)) over the pages without complete signals and of
// -mu ln p over the other pages, subject to sum rho + sum p Delta = R, rho >= 0, 0 <= p <= 1.
//
// Optimality, with one price for both groups:
//   mu Delta/(rho (Delta + rho)) = Lambda:  rho = (-Delta + sqrt(Delta^2 + 4 mu Delta/Lambda))/2,
//     computed as 2 mu Delta/Lambda / (Delta + sqrt(...)), which does not cancel;
//   p = min(1, mu/(Lambda Delta)).
// The paper splits R by a one-dimensional search. At its optimum, the multipliers of both groups
// are equal, so both groups are solved here as one problem. The authors' published code stops its
// bisection at an absolute error of 0.1 in Lambda, and misses R by up to 0.4%. Here the rates add
// up to R to within 1e-12.
//
// Pages with mu = 0 or Delta = 0 get no crawls. A complete page with mu > 0 and Delta = 0 has
// probability 1, which costs nothing. If R = 0, all rates are 0 and the price is infinite. If only
// complete pages can use crawls and R exceeds their total change rate, p = 1 for all of them, the
// rest of R is unused and the price is 0. Errors: those of ValidatePlanInput.
[[nodiscard]] StatusOr<RatePlan> PlanLambdaCrawl(const PlanPages& pages, double crawl_rate,
                                                 const ParallelFor& parallel = SerialFor);

// LC-IO: every page is polled, even a page with complete signals.
[[nodiscard]] StatusOr<RatePlan> PlanLambdaCrawlIncomplete(const PlanPages& pages,
                                                           double crawl_rate,
                                                           const ParallelFor& parallel = SerialFor);

// LC-CO: only pages with complete signals share R. The others get no crawls.
[[nodiscard]] StatusOr<RatePlan> PlanLambdaCrawlComplete(const PlanPages& pages, double crawl_rate,
                                                         const ParallelFor& parallel = SerialFor);

// LCA: pages without complete signals share their part R_i of R by importance: rho = R_i mu/sum mu
// (Proposition 9: no change rate is needed). Pages with complete signals are planned as in LC. R_i
// is optimal: its gain, sum mu Delta/(rho (Delta + rho)) mu/sum mu, equals the price of the
// signalled pages. The signalled pages are solved at exactly that gain, so the KKT residual is the
// relative difference between R and the rate used. Degenerate input is handled as in
// PlanLambdaCrawl, except that a polled page gets its share even if it never changes. If no polled
// page changes, R_i is the rate that the signalled pages leave over.
[[nodiscard]] StatusOr<RatePlan> PlanLambdaCrawlApprox(const PlanPages& pages, double crawl_rate,
                                                       const ParallelFor& parallel = SerialFor);

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_LAMBDA_CRAWL_H_
