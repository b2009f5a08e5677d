// The results of the classic estimators: a rate, its interval, and the kind of result.
#ifndef FRESHET_CORE_ESTIMATE_ESTIMATE_H_
#define FRESHET_CORE_ESTIMATE_ESTIMATE_H_

#include <cstdint>
#include <limits>
#include <string_view>

namespace freshet {

// The kind of an estimate. Short histories often have no finite or no interior optimum. Each of
// these cases has a name, a defined value and a test.
enum class EstimateStatus : uint8_t {
  kOk,                // one parameter: the root is finite and above 0
  kNoObservations,    // no observations: rate NaN, interval [0, infinity)
  kAllUnchanged,      // no interval changed: rate 0 (and signal weights 0)
  kAllChanged,        // every interval changed: the likelihood grows without bound, rate infinite
  kClippedLow,        // moment: the root lies below the given minimum
  kClippedHigh,       // moment: the root lies above the given maximum
  kUnequalIntervals,  // closed form: the intervals differ, so the formula does not apply; rate NaN
  kInterior,        // mle: the unsignalled rate and every identified weight are finite and above 0
  kBoundaryAlpha0,  // mle: the unsignalled rate is 0; every changed interval has a signal
  kBoundaryKappa0,  // mle: some signal weight is 0; its signals say nothing about changes
  kKappaInfinite,   // mle: some source signals only in changed intervals; its weight is infinite
  kNoSignals,       // mle: there are no signals, so the weights are not identified (NaN)
  kRidge,           // mle: signals are proportional to time; the optimum with weight 0 is chosen
};

// The name that freshet-sim prints and the test vectors use, for example "kappa_inf".
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

// A set of plausible rates, [low, high], with 0 <= low <= high. high can be infinite.
// Value type, thread-compatible.
struct RateInterval {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
};

// The result of a one-parameter estimator. The rate is in changes per unit of the observations'
// time. It is infinite or NaN only if the status says so. Value type, thread-compatible.
struct RateEstimate {
  double change_rate = std::numeric_limits<double>::quiet_NaN();
  EstimateStatus status = EstimateStatus::kNoObservations;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_ESTIMATE_H_
