// The search for the price of a crawl: one pass over all pages per step, for any objective.
//
// Every optimal plan gives page i a rate r_i(q), where q = 1/sqrt(Lambda) and Lambda is the price.
// The rate is 0 at q = 0 and never falls as q grows. (The rates of all objectives are
// asymptotically linear in q, so Newton's method converges fast.) The search finds the q at which
// the rates add up to the crawl rate.
#ifndef FRESHET_CORE_PLAN_PRICE_SEARCH_H_
#define FRESHET_CORE_PLAN_PRICE_SEARCH_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/base/check.h"
#include "core/plan/page_pass.h"
#include "core/plan/parallel.h"

namespace freshet {

// The result of the search: low <= q <= high with S(low) <= budget <= S(high), where S is the sum
// of rates. The bracket is either one point that meets the budget, or two neighbouring doubles
// between which rates are mixed. Two doubles are needed if a rate rises steeply: for lds and
// frontera, the rate of a page starts with infinite slope.
struct PriceBracket {
  double low = 0;
  double high = 0;
  double share_high = 0;  // weight of the rates at `high`; the rates at `low` have the rest
  int iterations = 0;

  [[nodiscard]] double q() const { return share_high < 0.5 ? low : high; }
  [[nodiscard]] double price() const { return 1 / (q() * q()); }
};

// When the search ends. kExact: within 1e-13 of the budget. kTrustLastStep: as soon as Newton's
// next step, which squares the relative error, should be that close. The caller then checks the
// result.
enum class StopRule : uint8_t { kExact, kTrustLastStep };

// Finds q > 0 with S(q) = budget, to within 1e-13 relative or between neighbouring doubles. sum(q)
// returns S and its derivative. S must be continuous and non-decreasing, with S(0) = 0, and must
// exceed `budget` for large q. The search uses Newton's method in q. It divides the bracket instead
// if a Newton step would leave the bracket, or if three steps have not halved the bracket.
// Preconditions: budget > 0, guess > 0, both finite. `parallel` is the executor of sum; once it has
// given up, the search ends. The search also ends after `most_steps` steps. If it has found no q
// with S(q) >= budget by then, `high` is infinite.
template <typename SumFunction>
[[nodiscard]] PriceBracket SearchPrice(double budget, double guess, const ParallelFor& parallel,
                                       const SumFunction& sum, StopRule stop, int most_steps) {
  CHECK(budget > 0 && guess > 0, "budget {}, guess {}", budget, guess);
  constexpr double kTrustedError = 1e-7;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kTolerance = 1e-13;
  PriceBracket bracket{0, kInfinity};
  double at_low = 0;
  double at_high = kInfinity;
  double q = guess;
  double width_then = kInfinity;
  for (bracket.iterations = 1; bracket.iterations < most_steps; ++bracket.iterations) {
    const RateSum at = sum(q);
    if (parallel.given_up() || std::abs(at.rate - budget) <= kTolerance * budget) {
      bracket.low = bracket.high = q;
      return bracket;
    }
    if (at.rate < budget) {
      bracket.low = q;
      at_low = at.rate;
    } else {
      bracket.high = q;
      at_high = at.rate;
    }
    bool slow = false;
    if (bracket.iterations % 3 == 0) {
      slow = bracket.high - bracket.low > 0.5 * width_then;
      width_then = bracket.high - bracket.low;
    }
    double next = q + (budget - at.rate) / at.slope;
    if (stop == StopRule::kTrustLastStep && std::abs(at.rate - budget) <= kTrustedError * budget &&
        next > bracket.low && next < bracket.high) {
      bracket.low = bracket.high = next;
      return bracket;
    }
    if (!(next > bracket.low && next < bracket.high) || slow) {
      // While an end is 0 or infinite, moves by a factor of 8. Otherwise halves the bracket, on a
      // logarithmic scale if it is wide.
      next = bracket.low == 0                 ? bracket.high / 8
             : std::isinf(bracket.high)       ? bracket.low * 8
             : bracket.high > 2 * bracket.low ? std::sqrt(bracket.low) * std::sqrt(bracket.high)
                                              : bracket.low + (bracket.high - bracket.low) / 2;
    }
    if (!(next > bracket.low && next < bracket.high) || std::isinf(next)) break;
    q = next;
  }
  if (std::isfinite(bracket.high)) bracket.share_high = (budget - at_low) / (at_high - at_low);
  return bracket;
}

// Like SearchPrice, with at most 500 steps. Precondition: S exceeds `budget` for large q.
template <typename SumFunction>
[[nodiscard]] PriceBracket FindPrice(double budget, double guess, const ParallelFor& parallel,
                                     const SumFunction& sum, StopRule stop = StopRule::kExact) {
  const PriceBracket bracket = SearchPrice(budget, guess, parallel, sum, stop, /*most_steps=*/500);
  CHECK(std::isfinite(bracket.high), "a rate of {} is never reached", budget);
  return bracket;
}

// The rate of a page between the two ends of a bracket. `page` is as in SolvePages.
template <typename PageFunction>
[[nodiscard]] double MixedRate(const PriceBracket& bracket, const PageFunction& page, size_t i) {
  if (bracket.share_high == 0) return page(i, bracket.low).rate;
  if (bracket.share_high == 1) return page(i, bracket.high).rate;
  return (1 - bracket.share_high) * page(i, bracket.low).rate +
         bracket.share_high * page(i, bracket.high).rate;
}

// Returns the q at which the search starts. Usually this is the solution for a regular sample of
// about 65,000 pages and its part of the budget. If there are too few pages for a sample, or if the
// sample cannot use its part, it is the q at which an upper bound of the sum meets the budget.
// `bound_of(i)` is a c with r_i(q) <= c q.
template <typename BoundFunction, typename PageFunction>
[[nodiscard]] double GuessPrice(size_t pages, double budget, const ParallelFor& parallel,
                                const BoundFunction& bound_of, const PageFunction& page) {
  constexpr size_t kSample = 1 << 16;
  constexpr int kStepsOfSample = 60;
  size_t stride = 1;
  while (stride < kPlanChunk && pages / (2 * stride) >= kSample) stride *= 2;
  const auto bound = [&](size_t step) {
    return SumPages(pages, step, parallel, [&](size_t i) { return RateSum{bound_of(i), 0}; }).rate;
  };
  const double sample_bound = bound(stride);
  if (stride > 1 && sample_bound > 0) {
    const size_t sampled = (pages + stride - 1) / stride;
    const double sample_budget = budget * static_cast<double>(sampled) / static_cast<double>(pages);
    const auto sum = [&](double q) {
      return SumPages(pages, stride, parallel, [&](size_t i) { return page(i, q); });
    };
    const PriceBracket bracket = SearchPrice(sample_budget, sample_budget / sample_bound, parallel,
                                             sum, StopRule::kExact, kStepsOfSample);
    // `high` is infinite if the pages of the sample cannot use the sample's part of the budget.
    if (std::isfinite(bracket.high)) return bracket.q();
  }
  const double whole_bound = stride > 1 ? bound(1) : sample_bound;
  if (parallel.given_up()) return budget;
  CHECK(whole_bound > 0, "no page can use a crawl");
  return budget / whole_bound;
}

// Solves the whole plan: finds the q at which the sum of page(i, q) over all pages is `budget`,
// then calls finish(i, bracket) for every page and combines the results. `fixed` is the total rate
// that `finish` adds to the rates page(i, q). With many pages, the search starts so close that two
// or three passes suffice.
template <typename BoundFunction, typename PageFunction, typename FinishFunction>
[[nodiscard]] FinishedPass SolvePages(size_t pages, double budget, double fixed,
                                      const ParallelFor& parallel, const BoundFunction& bound_of,
                                      const PageFunction& page, const FinishFunction& finish,
                                      PriceBracket* bracket) {
  constexpr double kTolerance = 1e-12;
  const auto sum = [&](double q) {
    return SumPages(pages, 1, parallel, [&](size_t i) { return page(i, q); });
  };
  const auto finish_all = [&] {
    return FinishPages(pages, parallel, [&](size_t i) { return finish(i, *bracket); });
  };
  const double guess = GuessPrice(pages, budget, parallel, bound_of, page);
  *bracket = FindPrice(budget, guess, parallel, sum, StopRule::kTrustLastStep);
  const FinishedPass pass = finish_all();
  const bool met = std::abs(pass.used - fixed - budget) <= kTolerance * budget;
  if (met || parallel.given_up()) return pass;
  const int before = bracket->iterations;
  *bracket = FindPrice(budget, bracket->q(), parallel, sum);
  bracket->iterations += before;
  return finish_all();
}

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_PRICE_SEARCH_H_
