// Durations in messages.
#ifndef FRESHET_CORE_BASE_DURATION_TEXT_H_
#define FRESHET_CORE_BASE_DURATION_TEXT_H_

#include <string>

#include "core/base/units.h"

namespace freshet {

// Exact, in seconds, with as many decimals as it takes: "300 s", "0.1 s". A double of seconds would
// be 0.09999999999999999 there. Thread-safe.
[[nodiscard]] std::string SecondsText(Duration duration);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_DURATION_TEXT_H_
