// Safeguarded root finding in one variable, shared by estimators and plans.
#ifndef FRESHET_CORE_BASE_ROOT_H_
#define FRESHET_CORE_BASE_ROOT_H_

#include <cmath>

#include "core/base/check.h"

namespace freshet {

// A function's value and derivative at one point.
struct ValueAndSlope {
  double value = 0;
  double slope = 0;
};

// Finds the root in [low, high] of a non-decreasing function with f(low) <= 0 <= f(high). The ends
// are never evaluated. The search takes Newton steps from `guess`. A step that would leave the
// bracket is replaced by the bracket's midpoint. So is every third step if three steps together
// have not halved the bracket. The search therefore ends for any slope. It stops when a step moves
// x by less than `tolerance` times |x|, when the bracket is two neighbouring doubles, or after 200
// evaluations (more than bisection needs). Precondition: low <= high, both finite. Cost: one
// evaluation per step, usually four to eight.
template <typename Function>
[[nodiscard]] double FindRoot(Function&& f, double low, double high, double guess,
                              double tolerance = 1e-15) {
  CHECK(low <= high, "empty bracket [{}, {}]", low, high);
  double x = guess > low && guess < high ? guess : low + (high - low) / 2;
  double width_then = high - low;
  for (int step = 0; step < 200; ++step) {
    const ValueAndSlope at = f(x);
    if (at.value == 0) return x;
    (at.value < 0 ? low : high) = x;
    double next = x - at.value / at.slope;
    bool slow = false;
    if (step % 3 == 2) {
      slow = high - low > 0.5 * width_then;
      width_then = high - low;
    }
    // Written so that a NaN step is rejected too.
    if (!(next >= low && next <= high) ||
        (slow && std::abs(next - x) > tolerance * std::abs(x) * 16)) {
      next = low + (high - low) / 2;
    }
    if (next == x || std::abs(next - x) <= tolerance * std::abs(next)) return next;
    if (!(next > low && next < high)) return next;
    x = next;
  }
  return x;
}

// Finds the root in [low, high] of a continuous function whose values at the ends, `at_low` and
// `at_high`, have opposite signs (or are zero; infinite is allowed). The search needs no
// derivative. It uses false position with Illinois weights. It takes the bracket's midpoint in
// every fourth step, and whenever a step would leave the bracket. Stops when the bracket is
// narrower than `tolerance` times |x|.
template <typename Function>
[[nodiscard]] double FindRootWithoutSlope(Function&& f, double low, double at_low, double high,
                                          double at_high, double tolerance = 1e-12) {
  CHECK(low <= high, "empty bracket [{}, {}]", low, high);
  if (at_low == 0) return low;
  if (at_high == 0) return high;
  const bool rising = at_low < 0;
  double weight_low = at_low;
  double weight_high = at_high;
  for (int step = 0; step < 200; ++step) {
    if (high - low <= tolerance * std::abs(high)) break;
    double x = low - weight_low * (high - low) / (weight_high - weight_low);
    if (!(x > low && x < high) || step % 4 == 3) x = low + (high - low) / 2;
    if (!(x > low && x < high)) break;
    const double value = f(x);
    if (value == 0) return x;
    if ((value < 0) == rising) {
      low = x;
      weight_low = value;
      weight_high /= 2;
    } else {
      high = x;
      weight_high = value;
      weight_low /= 2;
    }
  }
  return low + (high - low) / 2;
}

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_ROOT_H_
