// Draws from the log-normal law, of which the sizes of simulated hosts and their rates are.
#ifndef FRESHET_TOOLS_SIM_LOG_NORMAL_H_
#define FRESHET_TOOLS_SIM_LOG_NORMAL_H_

#include <cmath>
#include <numbers>

#include "core/base/random.h"

namespace freshet {

// Of median 1, by Box and Muller, one of the two; `spread` is the standard deviation of its
// logarithm.
inline double LogNormal(Random& random, double spread) {
  const double radius = std::sqrt(-2 * std::log1p(-random.Uniform()));
  return std::exp(spread * radius * std::cos(2 * std::numbers::pi * random.Uniform()));
}

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_LOG_NORMAL_H_
