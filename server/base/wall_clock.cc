#include "server/base/wall_clock.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace freshet {

Status CheckWallTime(Instant now) {
  if (now >= kFirstWallTime && now < kLastWallTime) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "the clock of this machine says {}, which cannot be true: set the clock, then "
                    "start again",
                    absl::FormatTime(absl::FromUnixMicros(now.micros()), absl::UTCTimeZone()));
}

Status CheckWallClock() {
  return CheckWallTime(Instant::FromMicros(absl::ToUnixMicros(absl::Now())));
}

}  // namespace freshet
