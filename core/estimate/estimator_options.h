// The options of an estimator. Value types, thread-compatible.
#ifndef FRESHET_CORE_ESTIMATE_ESTIMATOR_OPTIONS_H_
#define FRESHET_CORE_ESTIMATE_ESTIMATOR_OPTIONS_H_

#include <cstdint>

#include "core/base/units.h"

namespace freshet {

enum class EstimatorKind : uint8_t {
  kDefault,  // docs/model.md, "The default estimator": pooled over pages
  kMle,      // per page: unsignalled rate and signal weight by maximum likelihood
  kChoGm,    // per page: only the change rate, signals ignored
};

struct EstimatorOptions {
  EstimatorKind kind = EstimatorKind::kDefault;
  // The length of a day. Half-lives and age edges are in days, so only this number must change to
  // accelerate time.
  Duration day = Duration::Days(1);
  // The instant from which every event is recorded; none = the instant of the first recorded event.
  Instant since;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_ESTIMATOR_OPTIONS_H_
