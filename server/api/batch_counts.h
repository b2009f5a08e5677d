// The numbers of refused and other items in a batch.
#ifndef FRESHET_SERVER_API_BATCH_COUNTS_H_
#define FRESHET_SERVER_API_BATCH_COUNTS_H_

#include <cstdint>

namespace freshet {

// Numbers of items. Value type, thread-compatible.
struct BatchCounts {
  uint64_t refused = 0;
  uint64_t unrefused = 0;  // items that were applied, duplicate, stale or only observed
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_BATCH_COUNTS_H_
