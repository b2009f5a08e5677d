// Times in the format that other programs expect.
#ifndef FRESHET_SERVER_BASE_UNIX_SECONDS_H_
#define FRESHET_SERVER_BASE_UNIX_SECONDS_H_

#include "core/base/units.h"

namespace freshet {

// Seconds since 1970 (UTC), including fractions.
inline double UnixSeconds(Instant time) { return static_cast<double>(time.micros()) * 1e-6; }

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_UNIX_SECONDS_H_
