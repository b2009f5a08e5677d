// The results of a shard's epochs.
#ifndef FRESHET_SERVER_ENGINE_EPOCH_RESULT_H_
#define FRESHET_SERVER_ENGINE_EPOCH_RESULT_H_

#include <cstdint>

#include "core/base/units.h"

namespace freshet {

// Value type, thread-compatible.
struct EpochResult {
  uint64_t number = 0;  // number of the last epoch; restarts do not reset it; 0 = none
  uint64_t epochs = 0;  // epochs that ended since the start
  // The following fields describe the last epoch.
  uint64_t pages = 0;    // estimated pages
  uint64_t again = 0;    // pages estimated again by the new models
  uint64_t changed = 0;  // pages written; a page estimated again can count twice
  Instant ended;         // none = no epoch has ended
  Duration took;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_EPOCH_RESULT_H_
