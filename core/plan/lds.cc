#include "core/plan/lds.h"

#include <cstddef>

#include "core/plan/weighted_gain.h"

namespace freshet {

StatusOr<RatePlan> PlanLds(const PlanPages& pages, double crawl_rate, const ParallelFor& parallel) {
  RETURN_IF_ERROR(ValidatePlanInput(pages, crawl_rate, parallel));
  return internal::PlanWeightedGain(pages, crawl_rate, parallel, [&](size_t i) {
    return pages.importance[i] / pages.change_rate[i];
  });
}

}  // namespace freshet
