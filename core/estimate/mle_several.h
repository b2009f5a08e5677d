// The part of core/estimate/mle.h for several sources.
#ifndef FRESHET_CORE_ESTIMATE_MLE_SEVERAL_H_
#define FRESHET_CORE_ESTIMATE_MLE_SEVERAL_H_

#include "core/estimate/mle.h"
#include "core/estimate/observation.h"

namespace freshet::internal {

// EstimateMle for any number of sources, including one and none. Precondition: there are changed
// and unchanged intervals. Sources with signals only in changed intervals get an infinite weight,
// and leave the problem together with the intervals that they explain. The remaining concave
// problem is solved by Newton's method with an active set. Its free parameters are those that are
// above 0 or would rise above 0. Takes about ten steps of O(observations x sources^2). If columns
// are proportional, the result is one point of a segment of optima, and the status is not kRidge.
[[nodiscard]] SignalEstimate EstimateMleSeveral(const Observations& observations);

}  // namespace freshet::internal

#endif  // FRESHET_CORE_ESTIMATE_MLE_SEVERAL_H_
