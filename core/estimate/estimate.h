// The answers of the classic estimators: a rate, its interval, and the kind of answer.
#ifndef FRESHET_CORE_ESTIMATE_ESTIMATE_H_
#define FRESHET_CORE_ESTIMATE_ESTIMATE_H_

#include <cstdint>
#include <limits>
#include <string_view>

namespace freshet {

// The kind of an estimate. Short histories often have no finite or no interior optimum; each such
// case has a name, a defined value and a test.
enum class EstimateStatus : uint8_t {
  kOk,                // one parameter: a finite root above 0
  kNoObservations,    // nothing seen: rate NaN, interval [0, infinity)
  kAllUnchanged,      // no interval changed: rate 0 (and signal weights 0)
  kAllChanged,        // every interval changed: the likelihood grows for ever, rate infinite
  kClippedLow,        // moment: the root lies below the given minimum
  kClippedHigh,       // moment: the root lies above the given maximum
  kUnequalIntervals,  // closed form: the intervals differ, so it does not apply; rate NaN
  kInterior,          // mle: unsignalled rate and every identified weight above 0 and finite
  kBoundaryAlpha0,    // mle: unsignalled rate 0; every changed interval has a signal
  kBoundaryKappa0,    // mle: some signal weight 0, those signals say nothing about changes
  kKappaInfinite,     // mle: some source only signals in changed intervals: its weight is infinite
  kNoSignals,         // mle: no signal at all; the weights are not identified (NaN)
  kRidge,             // mle: signals proportional to time; of equal optima, the one with weight 0
};

// The name that freshet-sim prints and the vectors use, e.g. "kappa_inf".
[[nodiscard]] constexpr std::string_view EstimateStatusName(EstimateStatus status) {
  switch (status) {
    case EstimateStatus::kOk:
      return "ok";
    case EstimateStatus::kNoObservations:
      return "no_observations";
    case EstimateStatus::kAllUnchanged:
      return "all_unchanged";
    case EstimateStatus::kAllChanged:
      return "all_changed";
    case EstimateStatus::kClippedLow:
      return "clipped_low";
    case EstimateStatus::kClippedHigh:
      return "clipped_high";
    case EstimateStatus::kUnequalIntervals:
      return "unequal_intervals";
    case EstimateStatus::kInterior:
      return "interior";
    case EstimateStatus::kBoundaryAlpha0:
      return "boundary_alpha0";
    case EstimateStatus::kBoundaryKappa0:
      return "boundary_kappa0";
    case EstimateStatus::kKappaInfinite:
      return "kappa_inf";
    case EstimateStatus::kNoSignals:
      return "no_signals";
    case EstimateStatus::kRidge:
      return "ridge";
  }
  return "unknown";
}

// A set of plausible rates, [low, high], 0 <= low <= high; high may be infinite. Value type,
// thread-compatible.
struct RateInterval {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
};

// The answer of a one-parameter estimator. The rate is in changes per unit of the observations'
// time; it is infinite or NaN only where the status says so. Value type, thread-compatible.
struct RateEstimate {
  double change_rate = std::numeric_limits<double>::quiet_NaN();
  EstimateStatus status = EstimateStatus::kNoObservations;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_ESTIMATE_H_
