// The inverse of the crawl value: when a page becomes worth a given price.
#ifndef FRESHET_CORE_MODEL_CROSSING_H_
#define FRESHET_CORE_MODEL_CROSSING_H_

#include "core/model/crawl_value.h"

namespace freshet {

// The least s at which the value reaches `price`. It is 0 for price <= 0, and infinite for
// price >= page.ceiling, which the value approaches but never reaches. `price` must not be NaN.
//
// The relative error is below 1e-11, plus what the rounding of price and ceiling and the errors of
// V (core/model/crawl_value.h) contribute. A page of shape kGreedy is solved directly, in about 30
// ns. A page of shape kNcis is solved directly if V equals its first term at the result (75 ns), or
// if the closed form without poles (core/model/ncis_value.h) holds there (70 ns). Otherwise a
// fourth-order iteration starts from the smaller of these two solutions. It evaluates V once or,
// rarely, twice (250 to 350 ns). It needs more evaluations only if gamma is large compared with
// alpha, because V then has kinks.
[[nodiscard]] double ExponentReaching(const ValueParameters& page, double price);

// The time until the value of a page at `s` reaches `price` if no signal comes. 0 = already
// reached; infinite = never, even at infinite `s`.
[[nodiscard]] double TimeToReach(const ValueParameters& page, double s, double price);

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_CROSSING_H_
