// Draws from the log-normal distribution, for the sizes and rates of simulated hosts.
#ifndef FRESHET_LAB_SIM_LOG_NORMAL_H_
#define FRESHET_LAB_SIM_LOG_NORMAL_H_

#include <cmath>
#include <numbers>

#include "core/base/random.h"

namespace freshet {

// Draws a log-normal number of median 1, by Box and Muller (one of their two numbers). `spread` is
// the standard deviation of its logarithm.
inline double LogNormal(Random& random, double spread) {
  const double radius = std::sqrt(-2 * std::log1p(-random.Uniform()));
  return std::exp(spread * radius * std::cos(2 * std::numbers::pi * random.Uniform()));
}

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_LOG_NORMAL_H_
