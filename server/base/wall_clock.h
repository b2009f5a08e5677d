// The range of plausible times. A server with a wrong clock would store wrong times permanently.
#ifndef FRESHET_SERVER_BASE_WALL_CLOCK_H_
#define FRESHET_SERVER_BASE_WALL_CLOCK_H_

#include "core/base/status.h"
#include "core/base/units.h"

namespace freshet {

// The beginning of 2020, when Freshet did not exist yet, and the beginning of 2100, in UTC.
inline constexpr Instant kFirstWallTime = Instant::FromMicros(1'577'836'800'000'000);
inline constexpr Instant kLastWallTime = Instant::FromMicros(4'102'444'800'000'000);

// Not OK: FailedPrecondition if `now` lies outside this range. kLastWallTime itself lies outside.
// Thread-safe.
[[nodiscard]] Status CheckWallTime(Instant now);
// Checks the machine's clock in the same way. Thread-safe.
[[nodiscard]] Status CheckWallClock();

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_WALL_CLOCK_H_
