// LambdaCrawl (Kolobov, Peres, Lu, Horvitz: "Staying up to Date with Online Content Changes Using
// Reinforcement Learning for Scheduling", NeurIPS 2019): plans for the harmonic penalty, which
// grows without bound while a page stays stale, so that no page starves. Crawls come at Poisson
// times; pages with complete signals are crawled on a signal with a probability instead.
#ifndef FRESHET_CORE_PLAN_LAMBDA_CRAWL_H_
#define FRESHET_CORE_PLAN_LAMBDA_CRAWL_H_

#include "core/base/status.h"
#include "core/plan/parallel.h"
#include "core/plan/plan.h"

namespace freshet {

// LC: minimises -sum mu ln(rho/(Delta + rho)) over pages without complete signals plus
// -sum mu ln p over those with, subject to sum rho + sum p Delta = R, rho >= 0, 0 <= p <= 1.
//
// Optimality, with one price for both groups (the paper splits R by a one-dimensional search; at
// its optimum the multipliers of the groups are equal, so they are solved as one problem):
//   mu Delta/(rho (Delta + rho)) = Lambda:  rho = (-Delta + sqrt(Delta^2 + 4 mu Delta/Lambda))/2,
//     computed as 2 mu Delta/Lambda / (Delta + sqrt(...)), which does not cancel;
//   p = min(1, mu/(Lambda Delta)).
// The authors' published code stops its bisection at an absolute 0.1 on Lambda and misses R by up
// to 0.4%; here the rates add up to R to 1e-12.
//
// Pages with mu = 0 or Delta = 0 get nothing (p = 1 where mu > 0 and Delta = 0: free). R = 0: all
// 0, price infinite. If only complete pages are of use and R exceeds their total change rate, p = 1
// for all of them, the rest of R is unused and the price is 0. Errors as ValidatePlanInput.
[[nodiscard]] StatusOr<RatePlan> PlanLambdaCrawl(const PlanPages& pages, double crawl_rate,
                                                 const ParallelFor& parallel = SerialFor);

// LC-IO: every page polled, whatever its signals.
[[nodiscard]] StatusOr<RatePlan> PlanLambdaCrawlIncomplete(const PlanPages& pages,
                                                           double crawl_rate,
                                                           const ParallelFor& parallel = SerialFor);

// LC-CO: R only for the pages with complete signals; the others get nothing.
[[nodiscard]] StatusOr<RatePlan> PlanLambdaCrawlComplete(const PlanPages& pages, double crawl_rate,
                                                         const ParallelFor& parallel = SerialFor);

// LCA: pages without complete signals share their part R_i of R by importance, rho = R_i mu/sum mu
// (Proposition 9: no change rate is needed), those with complete signals as in LC; R_i is the
// optimal one, where the gain of R_i, sum mu Delta/(rho (Delta + rho)) mu/sum mu, equals the price
// of the signalled pages. The signalled pages are solved at exactly that gain, so the KKT residual
// is the relative difference between R and what is used. Degenerate input as PlanLambdaCrawl, but a
// polled page gets its share whether it changes or not. If none of them changes, R_i is what the
// signalled pages leave.
[[nodiscard]] StatusOr<RatePlan> PlanLambdaCrawlApprox(const PlanPages& pages, double crawl_rate,
                                                       const ParallelFor& parallel = SerialFor);

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_LAMBDA_CRAWL_H_
