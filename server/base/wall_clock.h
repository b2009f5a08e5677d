// What the machine's clock may show: a server whose times cannot be true would store them for ever.
#ifndef FRESHET_SERVER_BASE_WALL_CLOCK_H_
#define FRESHET_SERVER_BASE_WALL_CLOCK_H_

#include "core/base/status.h"
#include "core/base/units.h"

namespace freshet {

// The beginning of 2020, when there was no Freshet, and that of 2100, in UTC.
inline constexpr Instant kFirstWallTime = Instant::FromMicros(1'577'836'800'000'000);
inline constexpr Instant kLastWallTime = Instant::FromMicros(4'102'444'800'000'000);

// FailedPrecondition: the time is before the first one, or not before the last one. Thread-safe.
[[nodiscard]] Status CheckWallTime(Instant now);
// Checks what the machine's clock shows now in the same way.
[[nodiscard]] Status CheckWallClock();

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_WALL_CLOCK_H_
