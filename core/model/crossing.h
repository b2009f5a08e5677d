// The inverse of the crawl value: when a page becomes worth a given price.
#ifndef FRESHET_CORE_MODEL_CROSSING_H_
#define FRESHET_CORE_MODEL_CROSSING_H_

#include "core/model/crawl_value.h"

namespace freshet {

// The least s at which the value reaches `price`: 0 for price <= 0, infinite for
// price >= page.ceiling, which the value approaches but never reaches. `price` is not NaN.
//
// Relative error below 1e-11, besides shifts from rounding the price and the ceiling, and from
// errors of V within its own bounds. kGreedy is solved directly in about 30 ns. kNcis is solved
// directly where the first term (75 ns) or the closed form without poles (70 ns) decides. Between,
// these two start a step of fourth order: one evaluation of V, rarely two, in 250 to 350 ns; more
// only where gamma is large against alpha, so that V has kinks.
[[nodiscard]] double ExponentReaching(const ValueParameters& page, double price);

// The time until the value of a page at `s` reaches `price` if no signal comes: 0 = reached
// already, infinite = never, also at infinite `s`.
[[nodiscard]] double TimeToReach(const ValueParameters& page, double s, double price);

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_CROSSING_H_
