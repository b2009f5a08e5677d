// Formats durations for messages.
#ifndef FRESHET_CORE_BASE_DURATION_TEXT_H_
#define FRESHET_CORE_BASE_DURATION_TEXT_H_

#include <string>

#include "core/base/units.h"

namespace freshet {

// The exact seconds, with as many decimals as needed: "300 s", "0.1 s". A double of seconds could
// print 0.09999999999999999 instead. Thread-safe.
[[nodiscard]] std::string SecondsText(Duration duration);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_DURATION_TEXT_H_
