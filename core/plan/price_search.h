// The search for the price of a crawl: one pass over all pages per step, whatever the objective.
//
// Every optimal plan here is a rate r_i(q) for each page, 0 at q = 0 and never falling, where
// q = 1/sqrt(Lambda) and Lambda is the price. (In q the rates of all objectives are asymptotically
// linear, so Newton's steps are good ones.) The search finds the q at which they add up to the
// crawl rate.
#ifndef FRESHET_CORE_PLAN_PRICE_SEARCH_H_
#define FRESHET_CORE_PLAN_PRICE_SEARCH_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/base/check.h"
#include "core/plan/parallel.h"

namespace freshet {

// Pages of one unit of parallel work: large enough to hide its cost, small enough to share evenly.
inline constexpr size_t kPlanChunk = 1 << 14;

// A sum of rates and its derivative.
struct RateSum {
  double rate = 0;
  double slope = 0;
};

// sum over pages i = 0, stride, 2 stride, ... of page(i), added up by chunks in a fixed order, so
// that the result is the same on any executor. stride is a power of two up to kPlanChunk.
template <typename PageFunction>
[[nodiscard]] RateSum SumPages(size_t pages, size_t stride, const ParallelFor& parallel,
                               const PageFunction& page) {
  const size_t chunks = (pages + kPlanChunk - 1) / kPlanChunk;
  std::vector<RateSum> parts(chunks);
  parallel(chunks, [&](size_t chunk) {
    const size_t end = std::min(pages, (chunk + 1) * kPlanChunk);
    RateSum part;
    for (size_t i = chunk * kPlanChunk; i < end; i += stride) {
      const RateSum one = page(i);
      part.rate += one.rate;
      part.slope += one.slope;
    }
    parts[chunk] = part;
  });
  RateSum sum;
  for (const RateSum& part : parts) {
    sum.rate += part.rate;
    sum.slope += part.slope;
  }
  return sum;
}

// Where the search ended: low <= q <= high with S(low) <= budget <= S(high). Either one point that
// meets the budget, or two neighbouring doubles (a rate may rise steeply there: for lds and
// frontera a page enters with infinite slope), between which rates are mixed.
struct PriceBracket {
  double low = 0;
  double high = 0;
  double share_high = 0;  // weight of the rates at `high`; those at `low` have the rest
  int iterations = 0;

  [[nodiscard]] double q() const { return share_high < 0.5 ? low : high; }
  [[nodiscard]] double price() const { return 1 / (q() * q()); }
};

// Finds q > 0 with S(q) = budget to 1e-13 relative or to neighbouring doubles, where sum(q) gives S
// and its derivative, S is continuous and non-decreasing, S(0) = 0, and S exceeds `budget` for
// large q. Newton's method in q, kept in a bracket; a geometric midpoint where a step leaves it or
// three steps have not halved it. Preconditions: budget > 0, guess > 0, both finite.
template <typename SumFunction>
[[nodiscard]] PriceBracket FindPrice(double budget, double guess, const SumFunction& sum) {
  CHECK(budget > 0 && guess > 0, "budget {}, guess {}", budget, guess);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kTolerance = 1e-13;
  PriceBracket bracket{0, kInfinity};
  double at_low = 0;
  double at_high = kInfinity;
  double q = guess;
  double width_then = kInfinity;
  for (bracket.iterations = 1; bracket.iterations < 500; ++bracket.iterations) {
    const RateSum at = sum(q);
    if (std::abs(at.rate - budget) <= kTolerance * budget) {
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
    if (!(next > bracket.low && next < bracket.high) || slow) {
      // Away from zero and infinity by factors, else by halves on the logarithmic scale.
      next = bracket.low == 0                 ? bracket.high / 8
             : std::isinf(bracket.high)       ? bracket.low * 8
             : bracket.high > 2 * bracket.low ? std::sqrt(bracket.low) * std::sqrt(bracket.high)
                                              : bracket.low + (bracket.high - bracket.low) / 2;
    }
    if (!(next > bracket.low && next < bracket.high) || std::isinf(next)) break;
    q = next;
  }
  CHECK(std::isfinite(bracket.high), "a rate of {} is never reached", budget);
  bracket.share_high = (budget - at_low) / (at_high - at_low);
  return bracket;
}

// FindPrice of sum over pages of page(i, q). With many pages the price of a regular sample of some
// 65,000 is found first: the search over all pages then starts so close that three or four passes
// are enough. `bound` is an upper bound c of S(q)/q (every rate here is below q sqrt(mu Delta));
// `bound_of(i)` gives the part of page i.
template <typename BoundFunction, typename PageFunction>
[[nodiscard]] PriceBracket FindPriceOfPages(size_t pages, double budget,
                                            const ParallelFor& parallel,
                                            const BoundFunction& bound_of,
                                            const PageFunction& page) {
  constexpr size_t kSample = 1 << 16;
  size_t stride = 1;
  while (stride < kPlanChunk && pages / (2 * stride) >= kSample) stride *= 2;
  double guess = 0;
  while (true) {
    const double scale =
        static_cast<double>((pages + stride - 1) / stride) / static_cast<double>(pages);
    if (guess == 0) {
      const RateSum bound = SumPages(pages, stride, parallel, [&](size_t i) {
        return RateSum{bound_of(i), 0};
      });
      // A sample without a single useful page says nothing.
      if (bound.rate > 0) guess = budget * scale / bound.rate;
    }
    if (guess > 0) {
      const PriceBracket bracket = FindPrice(budget * scale, guess, [&](double q) {
        return SumPages(pages, stride, parallel, [&](size_t i) { return page(i, q); });
      });
      if (stride == 1) return bracket;
      guess = bracket.q();
    }
    CHECK(stride > 1, "no page can use a crawl");
    stride = 1;
  }
}

// Crawls per unit of time of one page at the price found, and how far that is from optimal.
struct PlannedPage {
  double crawls = 0;
  double residual = 0;
};

// Sums and maxima of the last pass, which writes the plan.
struct FinishedPass {
  double used = 0;
  double kkt_residual = 0;
};

// finish(i) of every page, summed up; finish writes what it planned to memory of its own page.
template <typename FinishFunction>
[[nodiscard]] FinishedPass FinishPages(size_t pages, const ParallelFor& parallel,
                                       const FinishFunction& finish) {
  const size_t chunks = (pages + kPlanChunk - 1) / kPlanChunk;
  std::vector<FinishedPass> parts(chunks);
  parallel(chunks, [&](size_t chunk) {
    const size_t end = std::min(pages, (chunk + 1) * kPlanChunk);
    FinishedPass part;
    for (size_t i = chunk * kPlanChunk; i < end; ++i) {
      const PlannedPage page = finish(i);
      part.used += page.crawls;
      part.kkt_residual = std::max(part.kkt_residual, page.residual);
    }
    parts[chunk] = part;
  });
  FinishedPass pass;
  for (const FinishedPass& part : parts) {
    pass.used += part.used;
    pass.kkt_residual = std::max(pass.kkt_residual, part.kkt_residual);
  }
  return pass;
}

// The rate of a page between the two ends of a bracket; `page` as in FindPriceOfPages.
template <typename PageFunction>
[[nodiscard]] double MixedRate(const PriceBracket& bracket, const PageFunction& page, size_t i) {
  if (bracket.share_high == 0) return page(i, bracket.low).rate;
  if (bracket.share_high == 1) return page(i, bracket.high).rate;
  return (1 - bracket.share_high) * page(i, bracket.low).rate +
         bracket.share_high * page(i, bracket.high).rate;
}

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_PRICE_SEARCH_H_
