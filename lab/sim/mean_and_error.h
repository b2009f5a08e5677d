// A sample mean with its standard error.
#ifndef FRESHET_LAB_SIM_MEAN_AND_ERROR_H_
#define FRESHET_LAB_SIM_MEAN_AND_ERROR_H_

#include <cmath>
#include <limits>
#include <vector>

namespace freshet {

// Value type, thread-compatible.
struct MeanAndError {
  double mean = std::numeric_limits<double>::quiet_NaN();
  double error = 0;  // 0 if there is only one value
};

// Returns the mean and its standard error; NaN without values.
[[nodiscard]] inline MeanAndError MeanOf(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, values.size() > 1 ? std::sqrt(squares / (n - 1) / n) : 0};
}

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_MEAN_AND_ERROR_H_
