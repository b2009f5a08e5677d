// The common part of lds and frontera: plans for pages that are crawled at equal intervals. The
// weight of a page is what its first crawl is worth.
#ifndef FRESHET_CORE_PLAN_WEIGHTED_GAIN_H_
#define FRESHET_CORE_PLAN_WEIGHTED_GAIN_H_

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/plan/equal_intervals.h"
#include "core/plan/plan.h"
#include "core/plan/price_search.h"

namespace freshet::internal {

// The rate r with weight P(2, changes/r) = Lambda = 1/q^2, and its derivative in q. 0 if even the
// first crawl is worth no more than the price. With y = Lambda/weight and x = P(2, .)^-1(y):
// r = changes/x, dx/dy = (1 + x)/(x (1 - y)), dy/dq = -2 y/q. Precondition: weight, changes > 0.
[[nodiscard]] inline RateSum WeightedGainRate(double weight, double changes, double q) {
  const double y = 1 / (weight * q * q);
  if (y >= 1) return {};
  const double x = InverseCrawlGain(y);
  const double rate = changes / x;
  return {rate, rate * (1 + x) / (x * x * (1 - y)) * 2 * y / q};
}

// The relative distance of weight P(2, changes/r) from `price`. At r = 0, only an excess over the
// price counts.
[[nodiscard]] inline double WeightedGainResidual(double weight, double changes, double rate,
                                                 double price) {
  if (rate == 0) return std::max(0.0, weight / price - 1);
  return std::abs(weight * CrawlGain(changes / rate) / price - 1);
}

// Maximises sum weight(i) rho (1 - e^(-Delta/rho)) subject to sum rho = R, over the pages with
// importance > 0 and Delta > 0. The other pages get no crawls. Precondition: valid input.
template <typename WeightFunction>
[[nodiscard]] RatePlan PlanWeightedGain(const PlanPages& pages, double crawl_rate,
                                        const ParallelFor& parallel, const WeightFunction& weight) {
  const size_t size = pages.size();
  RatePlan plan;
  plan.rate.assign(size, 0.0);
  plan.price = 0;
  const auto useful = [&](size_t i) { return pages.importance[i] > 0 && pages.change_rate[i] > 0; };
  for (size_t i = 0; i < size; ++i) {
    if (useful(i)) plan.price = std::max(plan.price, weight(i));
  }
  if (crawl_rate == 0 || plan.price == 0) return plan;
  const auto page = [&](size_t i, double q) {
    return useful(i) ? WeightedGainRate(weight(i), pages.change_rate[i], q) : RateSum{};
  };
  // P(2, x) <= x^2/2, so rho <= q Delta sqrt(weight/2).
  const auto bound = [&](size_t i) {
    return useful(i) ? pages.change_rate[i] * std::sqrt(weight(i) / 2) : 0;
  };
  PriceBracket bracket;
  const auto finish = [&](size_t i, const PriceBracket& at) {
    if (!useful(i)) return PlannedPage{};
    plan.rate[i] = MixedRate(at, page, i);
    return PlannedPage{plan.rate[i], WeightedGainResidual(weight(i), pages.change_rate[i],
                                                          plan.rate[i], at.price())};
  };
  const FinishedPass pass =
      SolvePages(size, crawl_rate, 0, parallel, bound, page, finish, &bracket);
  plan.price = bracket.price();
  plan.iterations = bracket.iterations;
  plan.used = pass.used;
  plan.kkt_residual = pass.kkt_residual;
  return plan;
}

}  // namespace freshet::internal

#endif  // FRESHET_CORE_PLAN_WEIGHTED_GAIN_H_
