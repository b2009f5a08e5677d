#include "core/plan/binary.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/plan/price_search.h"

namespace freshet {
namespace {

// The gain of one more crawl per unit of time, -d/drho mu Delta/(Delta + rho). Precondition: mu,
// Delta > 0.
double Gain(double mu, double delta, double rate) {
  const double share = delta / (delta + rate);
  return mu / delta * share * share;
}

// The largest gain of any page at the floor; 0 if no page can gain.
double LargestGain(const PlanPages& pages, double floor) {
  double largest = 0;
  for (size_t i = 0; i < pages.size(); ++i) {
    if (pages.importance[i] == 0 || pages.change_rate[i] == 0) continue;
    largest = std::max(largest, Gain(pages.importance[i], pages.change_rate[i], floor));
  }
  return largest;
}

// Makes a plan without an objective, in which page i has the rate rate(i).
template <typename RateFunction>
RatePlan Fixed(const PlanPages& pages, const ParallelFor& parallel, const RateFunction& rate) {
  RatePlan plan;
  plan.rate.assign(pages.size(), 0.0);
  plan.used = FinishPages(pages.size(), parallel, [&](size_t i) {
                plan.rate[i] = rate(i);
                return PlannedPage{plan.rate[i], 0};
              }).used;
  return plan;
}

}  // namespace

StatusOr<RatePlan> PlanBlc(const PlanPages& pages, double crawl_rate, const ParallelFor& parallel) {
  return PlanBlcWithFloor(pages, crawl_rate, 0, parallel);
}

StatusOr<RatePlan> PlanBlcWithFloor(const PlanPages& pages, double crawl_rate, double epsilon,
                                    const ParallelFor& parallel) {
  RETURN_IF_ERROR(ValidatePlanInput(pages, crawl_rate, parallel));
  if (!(epsilon >= 0 && epsilon <= 1)) {
    return InvalidArgument("epsilon: {} is not between 0 and 1", epsilon);
  }
  const size_t size = pages.size();
  const double floor = size == 0 ? 0 : epsilon * crawl_rate / static_cast<double>(size);
  const double first_gain = LargestGain(pages, floor);
  const double above_floor = (1 - epsilon) * crawl_rate;
  if (above_floor == 0 || first_gain == 0) {
    RatePlan plan = Fixed(pages, parallel, [&](size_t) { return floor; });
    plan.price = first_gain;
    return plan;
  }
  // The rate of a page above the floor. It is 0 at q = 0, as the search requires.
  const auto page = [&](size_t i, double q) {
    const double root = std::sqrt(pages.importance[i] * pages.change_rate[i]);
    const double above = q * root - pages.change_rate[i] - floor;
    return above > 0 ? RateSum{above, root} : RateSum{};
  };
  const auto bound = [&](size_t i) {
    return std::sqrt(pages.importance[i] * pages.change_rate[i]);
  };
  RatePlan plan;
  plan.rate.assign(size, 0.0);
  const auto finish = [&](size_t i, const PriceBracket& at) {
    const double above = MixedRate(at, page, i);
    plan.rate[i] = floor + above;
    PlannedPage done{plan.rate[i], 0};
    if (pages.importance[i] > 0 && pages.change_rate[i] > 0) {
      const double excess =
          Gain(pages.importance[i], pages.change_rate[i], plan.rate[i]) / at.price() - 1;
      done.residual = above > 0 ? std::abs(excess) : std::max(0.0, excess);
    }
    return done;
  };
  PriceBracket bracket;
  const FinishedPass pass = SolvePages(size, above_floor, floor * static_cast<double>(size),
                                       parallel, bound, page, finish, &bracket);
  plan.price = bracket.price();
  plan.iterations = bracket.iterations;
  plan.used = pass.used;
  plan.kkt_residual = pass.kkt_residual;
  return plan;
}

StatusOr<RatePlan> PlanUniform(const PlanPages& pages, double crawl_rate,
                               const ParallelFor& parallel) {
  RETURN_IF_ERROR(ValidatePlanInput(pages, crawl_rate, parallel));
  const double rate = crawl_rate / static_cast<double>(std::max<size_t>(1, pages.size()));
  return Fixed(pages, parallel, [&](size_t) { return rate; });
}

StatusOr<RatePlan> PlanChangeRate(const PlanPages& pages, double crawl_rate,
                                  const ParallelFor& parallel) {
  RETURN_IF_ERROR(ValidatePlanInput(pages, crawl_rate, parallel));
  const double total = SumPages(pages.size(), 1, parallel, [&](size_t i) {
                         return RateSum{pages.change_rate[i], 0};
                       }).rate;
  const double factor = total > 0 ? crawl_rate / total : 0;
  return Fixed(pages, parallel, [&](size_t i) { return factor * pages.change_rate[i]; });
}

}  // namespace freshet
