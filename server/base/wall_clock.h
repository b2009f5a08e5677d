// The range of plausible times: a server with a wrong clock would store wrong times for ever.
#ifndef FRESHET_SERVER_BASE_WALL_CLOCK_H_
#define FRESHET_SERVER_BASE_WALL_CLOCK_H_

#include "core/base/status.h"
#include "core/base/units.h"

namespace freshet {

// The beginning of 2020, before there was Freshet, and that of 2100, in UTC.
inline constexpr Instant kFirstWallTime = Instant::FromMicros(1'577'836'800'000'000);
inline constexpr Instant kLastWallTime = Instant::FromMicros(4'102'444'800'000'000);

// FailedPrecondition unless the time lies in this range, without its end. Thread-safe.
[[nodiscard]] Status CheckWallTime(Instant now);
// Checks the machine's clock in the same way.
[[nodiscard]] Status CheckWallClock();

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_WALL_CLOCK_H_
