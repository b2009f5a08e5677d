// The part of core/estimate/mle.h for several sources.
#ifndef FRESHET_CORE_ESTIMATE_MLE_SEVERAL_H_
#define FRESHET_CORE_ESTIMATE_MLE_SEVERAL_H_

#include "core/estimate/mle.h"
#include "core/estimate/observation.h"

namespace freshet::internal {

// EstimateMle for any number of sources, one and none included. Precondition: both changed and
// unchanged intervals occur. Sources seen only in changed intervals get an infinite weight and
// leave the problem together with the intervals they explain; the concave problem that remains is
// solved by Newton's method on the parameters that are above 0 or want to be (an active set).
// Cost: O(observations x sources^2) a step, about ten steps. Proportional columns give one point of
// a segment of optima and no kRidge.
[[nodiscard]] SignalEstimate EstimateMleSeveral(const Observations& observations);

}  // namespace freshet::internal

#endif  // FRESHET_CORE_ESTIMATE_MLE_SEVERAL_H_
