#include "core/plan/frontera.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/check.h"
#include "core/plan/weighted_gain.h"

namespace freshet {
namespace {

// Divides the weights into classes, by equal steps of ln w between the smallest and the largest
// weight.
class Classes {
 public:
  Classes(const PlanPages& pages, size_t clusters) : clusters_(clusters) {
    double lowest = std::numeric_limits<double>::infinity();
    double highest = 0;
    for (size_t i = 0; i < pages.size(); ++i) {
      if (pages.importance[i] == 0 || pages.change_rate[i] == 0) continue;
      lowest = std::min(lowest, pages.importance[i]);
      highest = std::max(highest, pages.importance[i]);
    }
    if (highest == 0) return;
    any_ = true;
    low_ = std::log(lowest);
    scale_ = highest > lowest ? static_cast<double>(clusters) / (std::log(highest) - low_) : 0;
  }

  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] size_t Of(double weight) const {
    const double step = std::max(0.0, (std::log(weight) - low_) * scale_);
    return std::min(clusters_ - 1, static_cast<size_t>(step));
  }

 private:
  size_t clusters_;
  bool any_ = false;
  double low_ = 0;
  double scale_ = 0;
};

}  // namespace

StatusOr<RatePlan> PlanFrontera(const PlanPages& pages, double crawl_rate,
                                const ParallelFor& parallel) {
  RETURN_IF_ERROR(ValidatePlanInput(pages, crawl_rate, parallel));
  return internal::PlanWeightedGain(pages, crawl_rate, parallel,
                                    [&](size_t i) { return pages.importance[i]; });
}

StatusOr<RatePlan> PlanFronteraClustered(const PlanPages& pages, double crawl_rate, size_t clusters,
                                         const ParallelFor& parallel) {
  CHECK(clusters >= 1);
  RETURN_IF_ERROR(ValidatePlanInput(pages, crawl_rate, parallel));
  const Classes classes(pages, clusters);
  std::vector<double> weights(clusters, 0.0);
  std::vector<double> changes(clusters, 0.0);
  for (size_t i = 0; i < pages.size(); ++i) {
    if (pages.importance[i] == 0 || pages.change_rate[i] == 0) continue;
    const size_t k = classes.Of(pages.importance[i]);
    weights[k] += pages.importance[i] * pages.change_rate[i];
    changes[k] += pages.change_rate[i];
  }
  for (size_t k = 0; k < clusters; ++k) {
    if (changes[k] > 0) weights[k] /= changes[k];
  }
  const PlanPages representatives{weights, changes, {}};
  RatePlan solved = internal::PlanWeightedGain(representatives, crawl_rate, SerialFor,
                                               [&](size_t k) { return weights[k]; });
  RatePlan plan;
  plan.price = solved.price;
  plan.iterations = solved.iterations;
  plan.rate.assign(pages.size(), 0.0);
  if (!classes.any() || crawl_rate == 0) return plan;
  const FinishedPass pass = FinishPages(pages.size(), parallel, [&](size_t i) {
    const double weight = pages.importance[i];
    const double change_rate = pages.change_rate[i];
    if (weight == 0 || change_rate == 0) return PlannedPage{};
    const size_t k = classes.Of(weight);
    const double rate = solved.rate[k] * (change_rate / changes[k]);
    plan.rate[i] = rate;
    return PlannedPage{rate, internal::WeightedGainResidual(weight, change_rate, rate, plan.price)};
  });
  plan.used = pass.used;
  plan.kkt_residual = pass.kkt_residual;
  return plan;
}

double FronteraValue(const PlanPages& pages, const RatePlan& plan) {
  CHECK(plan.rate.size() == pages.size());
  double value = 0;
  for (size_t i = 0; i < pages.size(); ++i) {
    const double rate = plan.rate[i];
    if (rate > 0) value += rate * pages.importance[i] * -std::expm1(-pages.change_rate[i] / rate);
  }
  return value;
}

}  // namespace freshet
