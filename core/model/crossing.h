// The inverse of the crawl value: when does a page become worth a given price?
#ifndef FRESHET_CORE_MODEL_CROSSING_H_
#define FRESHET_CORE_MODEL_CROSSING_H_

#include "core/model/crawl_value.h"

namespace freshet {

// The least s at which the value reaches `price`: 0 for price <= 0, infinite for
// price >= page.ceiling, which the value approaches but never reaches. `price` is not NaN.
//
// Relative error below 1e-11, besides what rounding of the price and of the ceiling, and errors of
// V within its own bounds, move the crossing by. kGreedy and, of kNcis, what the first term or the
// closed form without poles decides, are solved directly, in about 30, 75 and 70 ns. Between, the
// latter two start a step of fourth order: one evaluation of V, rarely two, in 250 to 350 ns, and
// more only where gamma is large against alpha, so that V has kinks.
[[nodiscard]] double ExponentReaching(const ValueParameters& page, double price);

// The earliest time from now at which the value of a page that is at `s` reaches `price` if no
// signal comes: 0 if it has reached it already, infinite if it never will, also at infinite `s`.
[[nodiscard]] double TimeToReach(const ValueParameters& page, double s, double price);

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_CROSSING_H_
