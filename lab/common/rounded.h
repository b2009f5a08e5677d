// Rounds numbers in JSON to the digits that were measured, so that people can read them. A number
// that is not finite becomes null.
//
// All functions are thread-safe.
#ifndef FRESHET_LAB_COMMON_ROUNDED_H_
#define FRESHET_LAB_COMMON_ROUNDED_H_

#include <cmath>
#include <cstdint>
#include <string>

#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace freshet {

// Rounds to `decimals` decimals. 0 makes an integer.
inline nlohmann::ordered_json Rounded(double value, int decimals) {
  if (!std::isfinite(value)) return nullptr;
  const double rounded = std::stod(fmt::format("{:.{}f}", value, decimals));
  constexpr double kExact = 9'007'199'254'740'992;  // 2^53
  if (decimals == 0 && std::abs(rounded) < kExact) return static_cast<int64_t>(rounded);
  return rounded;
}

// Rounds to `digits` significant digits.
inline nlohmann::ordered_json Significant(double value, int digits) {
  if (!std::isfinite(value)) return nullptr;
  return std::stod(fmt::format("{:.{}g}", value, digits));
}

}  // namespace freshet

#endif  // FRESHET_LAB_COMMON_ROUNDED_H_
