#include "lab/methods/closed_form.h"

#include <cmath>
#include <limits>

#include "core/estimate/cho_gm.h"
#include "core/estimate/rate_equation.h"

namespace freshet {
namespace {

// Imaginary events, and the imaginary time in which they occur. With them, the rate is neither zero
// nor infinite if there are no observations.
constexpr double kImaginary = 0.5;

// Lengths of intervals between rounded times still count as equal within this tolerance.
constexpr double kEqualTolerance = 1e-9;

double AllSignals(const Observations& observations) {
  double total = 0;
  for (size_t k = 0; k < observations.sources(); ++k) total += observations.total_signals(k);
  return total;
}

bool IntervalsEqual(const Observations& observations) {
  for (size_t i = 1; i < observations.size(); ++i) {
    const double first = observations.elapsed(0);
    if (std::abs(observations.elapsed(i) - first) > kEqualTolerance * first) return false;
  }
  return true;
}

}  // namespace

RateEstimate EstimateComplete(const Observations& observations) {
  RateEstimate estimate;
  estimate.change_rate =
      (AllSignals(observations) + kImaginary) / (observations.total_elapsed() + kImaginary);
  estimate.status = observations.empty() ? EstimateStatus::kNoObservations : EstimateStatus::kOk;
  return estimate;
}

RateInterval CompleteInterval(const Observations& observations, double delta) {
  return PoissonLikelihoodInterval(AllSignals(observations) + kImaginary,
                                   observations.total_elapsed() + kImaginary,
                                   LikelihoodDrop(delta));
}

RateEstimate EstimateClosedForm(const Observations& observations) {
  RateEstimate estimate;
  if (observations.empty()) return estimate;
  if (!IntervalsEqual(observations)) {
    estimate.status = EstimateStatus::kUnequalIntervals;
    return estimate;
  }
  const auto changed = static_cast<double>(observations.changed_count());
  const auto unchanged = static_cast<double>(observations.unchanged_count());
  // Uses the mean length, so that the rounding of the first length has no effect.
  const double length = observations.total_elapsed() / (changed + unchanged);
  estimate.change_rate = std::log1p(changed / unchanged) / length;
  estimate.status = changed == 0     ? EstimateStatus::kAllUnchanged
                    : unchanged == 0 ? EstimateStatus::kAllChanged
                                     : EstimateStatus::kOk;
  return estimate;
}

RateInterval ClosedFormInterval(const Observations& observations, const RateEstimate& estimate,
                                double delta) {
  if (std::isnan(estimate.change_rate)) return {};
  return ChoGmInterval(observations, estimate, delta, 0);
}

RateEstimate EstimateLowerBound(const Observations& observations) {
  RateEstimate estimate;
  if (observations.empty()) return estimate;
  estimate.change_rate =
      static_cast<double>(observations.changed_count()) / observations.total_elapsed();
  estimate.status =
      observations.changed_count() == 0 ? EstimateStatus::kAllUnchanged : EstimateStatus::kOk;
  return estimate;
}

RateInterval LowerBoundInterval(const Observations& observations, double delta) {
  if (observations.empty()) return {};
  return PoissonLikelihoodInterval(static_cast<double>(observations.changed_count()),
                                   observations.total_elapsed(), LikelihoodDrop(delta));
}

}  // namespace freshet
