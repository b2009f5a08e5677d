#include "lab/sim/exploration.h"

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "core/plan/binary.h"
#include "lab/common/wrong_flag.h"
#include "lab/sim/mean_and_error.h"

namespace freshet {
namespace {

Status ValidateExploration(const PlanPages& pages, const ExplorationOptions& options) {
  RETURN_IF_ERROR(ValidatePlanInput(pages, options.crawl_rate));
  const auto count = static_cast<double>(pages.size());
  const double crawls = options.horizon * options.crawl_rate;
  if (!(crawls >= 2 * count && std::isfinite(crawls)) || pages.size() == 0) {
    return InvalidArgument("--horizon: '{}' is too short for two crawls of each of {} pages",
                           options.horizon, pages.size());
  }
  if (options.repeats < 2) return WrongFlag("--repeats", options.repeats, "a whole number above 1");
  // Each length of exploration is sqrt(2) times the previous one, so all lengths together draw at
  // most 3.5 times the crawls of the longest one.
  if (crawls * options.repeats * 3.5 > 2e9) {
    return InvalidArgument(
        "--horizon: '{}' needs more than 2e9 random crawls: give a shorter one, or fewer --repeats",
        options.horizon);
  }
  return {};
}

// Draws the moment estimates after `crawls` crawls of each page at equal intervals.
std::vector<double> DrawEstimates(const PlanPages& pages, int64_t crawls, double interval,
                                  RateBounds bounds, Random& random) {
  std::vector<double> estimates;
  estimates.reserve(pages.size());
  for (const double rate : pages.change_rate) {
    const double unchanged = std::exp(-rate * interval);
    int64_t seen = 0;
    for (int64_t crawl = 0; crawl < crawls; ++crawl) seen += random.Uniform() < unchanged ? 1 : 0;
    const double share = static_cast<double>(seen) / static_cast<double>(crawls);
    // If no interval is unchanged, the root is infinite, so the upper bound is used.
    estimates.push_back(std::clamp(-std::log(share) / interval, bounds.min, bounds.max));
  }
  return estimates;
}

StatusOr<double> CommittedAccuracy(const PlanPages& pages, const std::vector<double>& estimates,
                                   double crawl_rate) {
  ASSIGN_OR_RETURN(const RatePlan plan, PlanBlc({pages.importance, estimates, {}}, crawl_rate));
  return ComputePlanCosts({pages.importance, pages.change_rate, {}}, plan, CrawlTimes::kPoisson)
      .accuracy;
}

}  // namespace

StatusOr<Exploration> ExploreBeforeCommitting(const PlanPages& pages,
                                              const ExplorationOptions& options) {
  RETURN_IF_ERROR(ValidateExploration(pages, options));
  const PlanPages polled{pages.importance, pages.change_rate, {}};
  Exploration answer;
  const std::vector<double> truth(pages.change_rate.begin(), pages.change_rate.end());
  ASSIGN_OR_RETURN(answer.known, CommittedAccuracy(polled, truth, options.crawl_rate));
  ASSIGN_OR_RETURN(const RatePlan uniform, PlanUniform(polled, options.crawl_rate));
  answer.uniform = ComputePlanCosts(polled, uniform, CrawlTimes::kEqualIntervals).accuracy;
  const double interval = static_cast<double>(pages.size()) / options.crawl_rate;
  const auto most = static_cast<int64_t>(options.horizon / interval);
  Random random(options.seed);
  for (double length = 1; length < static_cast<double>(most); length *= std::sqrt(2.0)) {
    const auto crawls = static_cast<int64_t>(length);
    if (!answer.points.empty() &&
        answer.points.back().time == static_cast<double>(crawls) * interval)
      continue;
    const double share = static_cast<double>(crawls) * interval / options.horizon;
    std::vector<double> reached;
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      const std::vector<double> estimates =
          DrawEstimates(polled, crawls, interval, options.bounds, random);
      ASSIGN_OR_RETURN(const double committed,
                       CommittedAccuracy(polled, estimates, options.crawl_rate));
      reached.push_back(share * answer.uniform + (1 - share) * committed);
    }
    const MeanAndError mean = MeanOf(reached);
    answer.points.push_back({static_cast<double>(crawls) * interval, mean.mean, mean.error});
  }
  answer.best = *std::max_element(
      answer.points.begin(), answer.points.end(),
      [](const ExplorationPoint& a, const ExplorationPoint& b) { return a.accuracy < b.accuracy; });
  return answer;
}

}  // namespace freshet
