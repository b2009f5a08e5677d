// Times of the schedule tests.
#ifndef FRESHET_TESTS_CORE_SCHEDULE_INSTANTS_H_
#define FRESHET_TESTS_CORE_SCHEDULE_INSTANTS_H_

#include "core/base/units.h"

namespace freshet {

inline constexpr Instant kStart = Instant::FromUnixSeconds(1'700'000'000);

inline Instant At(double seconds) { return kStart + Duration::FromSeconds(seconds); }

}  // namespace freshet

#endif  // FRESHET_TESTS_CORE_SCHEDULE_INSTANTS_H_
