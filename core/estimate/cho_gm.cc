#include "core/estimate/cho_gm.h"

#include <cmath>

#include "absl/container/inlined_vector.h"
#include "core/base/check.h"
#include "core/estimate/rate_equation.h"

namespace freshet {
namespace {

// The two sides of the equation: the lengths of the changed intervals, and the total length of the
// unchanged ones.
struct Split {
  absl::InlinedVector<double, 64> changed;
  double unchanged = 0;
};

Split SplitByChange(const Observations& observations, double smoothing) {
  CHECK(smoothing >= 0 && std::isfinite(smoothing), "smoothing {}", smoothing);
  Split split;
  for (size_t i = 0; i < observations.size(); ++i) {
    if (observations.changed(i)) {
      split.changed.push_back(observations.elapsed(i));
    } else {
      split.unchanged += observations.elapsed(i);
    }
  }
  if (smoothing > 0) {
    split.changed.push_back(smoothing);
    split.unchanged += smoothing;
  }
  return split;
}

}  // namespace

RateEstimate EstimateChoGm(const Observations& observations, double smoothing) {
  const Split split = SplitByChange(observations, smoothing);
  RateEstimate estimate;
  if (observations.empty() && smoothing == 0) return estimate;
  estimate.change_rate = SolveRateEquation(split.changed, split.unchanged);
  if (observations.empty()) {
    estimate.status = EstimateStatus::kNoObservations;
  } else if (split.changed.empty()) {
    estimate.status = EstimateStatus::kAllUnchanged;
  } else if (split.unchanged == 0) {
    estimate.status = EstimateStatus::kAllChanged;
  } else {
    estimate.status = EstimateStatus::kOk;
  }
  return estimate;
}

RateInterval ChoGmInterval(const Observations& observations, const RateEstimate& estimate,
                           double delta, double smoothing) {
  const Split split = SplitByChange(observations, smoothing);
  if (split.changed.empty() && split.unchanged == 0) return {};
  return RateLikelihoodInterval(split.changed, split.unchanged, estimate.change_rate,
                                LikelihoodDrop(delta));
}

}  // namespace freshet
