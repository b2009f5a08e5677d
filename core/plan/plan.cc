#include "core/plan/plan.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/plan/page_pass.h"

namespace freshet {
namespace {

bool BadNumber(double value) {
  return value != 0 && !(value >= kSmallestPlanNumber && value <= kLargestPlanNumber);
}

// Sums from which the costs are computed.
struct CostSums {
  double j_h = 0;
  double j_b = 0;
  double fresh = 0;
  double importance = 0;
};

void AddPage(const PlanPages& pages, const RatePlan& plan, CrawlTimes times, size_t i,
             CostSums* sums) {
  const double mu = pages.importance[i];
  const double delta = pages.change_rate[i];
  if (mu == 0) return;
  sums->importance += mu;
  if (delta == 0) {
    sums->fresh += mu;
    return;
  }
  if (!plan.probability.empty() && pages.is_complete(i)) {
    const double p = plan.probability[i];
    sums->j_h -= mu * std::log(p);
    sums->j_b += mu * (1 - p);
    sums->fresh += mu * p;
    return;
  }
  const double rate = plan.rate[i];
  // ln(1 + Delta/rho) is infinite at rho = 0, and accurate even if rho is far greater than Delta.
  sums->j_h += mu * std::log1p(delta / rate);
  sums->j_b += mu * delta / (delta + rate);
  if (times == CrawlTimes::kPoisson) {
    sums->fresh += mu * rate / (delta + rate);
  } else if (rate > 0) {
    sums->fresh += mu * rate / delta * -std::expm1(-delta / rate);
  }
}

}  // namespace

Status ValidatePlanInput(const PlanPages& pages, double crawl_rate, const ParallelFor& parallel) {
  if (BadNumber(crawl_rate)) {
    return InvalidArgument("crawl rate: {} is out of range: it must be 0, or from {} to {}",
                           crawl_rate, kSmallestPlanNumber, kLargestPlanNumber);
  }
  const size_t size = pages.size();
  if (pages.change_rate.size() != size ||
      (!pages.complete.empty() && pages.complete.size() != size)) {
    return InvalidArgument(
        "pages: the numbers of importances ({}), change rates ({}) and complete flags ({}) must be "
        "equal",
        size, pages.change_rate.size(), pages.complete.size());
  }
  const size_t chunks = (size + kPlanChunk - 1) / kPlanChunk;
  std::vector<size_t> first_bad(chunks, size);
  parallel(chunks, [&](size_t chunk) {
    const size_t end = std::min(size, (chunk + 1) * kPlanChunk);
    for (size_t i = chunk * kPlanChunk; i < end; ++i) {
      if (BadNumber(pages.importance[i]) || BadNumber(pages.change_rate[i]) ||
          (!pages.complete.empty() && pages.complete[i] > 1)) {
        first_bad[chunk] = i;
        return;
      }
    }
  });
  for (const size_t i : first_bad) {
    if (i == size) continue;
    return InvalidArgument(
        "page {}: importance ({}) and change rate ({}) must be 0 or from {} to {}; complete ({}) "
        "must be 0 or 1",
        i, pages.importance[i], pages.change_rate[i], kSmallestPlanNumber, kLargestPlanNumber,
        pages.complete.empty() ? 0 : pages.complete[i]);
  }
  return {};
}

PlanCosts ComputePlanCosts(const PlanPages& pages, const RatePlan& plan, CrawlTimes times,
                           const ParallelFor& parallel) {
  const size_t size = pages.size();
  CHECK(plan.rate.size() == size);
  PlanCosts costs;
  if (size == 0) return costs;
  const size_t chunks = (size + kPlanChunk - 1) / kPlanChunk;
  std::vector<CostSums> parts(chunks);
  parallel(chunks, [&](size_t chunk) {
    const size_t end = std::min(size, (chunk + 1) * kPlanChunk);
    CostSums part;
    for (size_t i = chunk * kPlanChunk; i < end; ++i) AddPage(pages, plan, times, i, &part);
    parts[chunk] = part;
  });
  CostSums sums;
  for (const CostSums& part : parts) {
    sums.j_h += part.j_h;
    sums.j_b += part.j_b;
    sums.fresh += part.fresh;
    sums.importance += part.importance;
  }
  costs.j_h = sums.j_h / static_cast<double>(size);
  costs.j_b = sums.j_b / static_cast<double>(size);
  costs.accuracy = sums.fresh / sums.importance;
  return costs;
}

}  // namespace freshet
