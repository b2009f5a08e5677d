// The result of epochs.
#ifndef FRESHET_SERVER_ENGINE_EPOCH_RESULT_H_
#define FRESHET_SERVER_ENGINE_EPOCH_RESULT_H_

#include <cstdint>

#include "core/base/units.h"

namespace freshet {

// Value type, thread-compatible.
struct EpochResult {
  uint64_t number = 0;  // number of the last epoch, over all starts; 0 = none
  uint64_t epochs = 0;  // ended since the start
  // The last epoch:
  uint64_t pages = 0;    // estimated
  uint64_t again = 0;    // pages estimated again by the new models
  uint64_t changed = 0;  // written, those looked at twice perhaps twice
  Instant ended;         // none: no epoch has
  Duration took;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_EPOCH_RESULT_H_
