// Numbers of a batch's items by outcome.
#ifndef FRESHET_SERVER_API_BATCH_COUNTS_H_
#define FRESHET_SERVER_API_BATCH_COUNTS_H_

#include <cstdint>

namespace freshet {

// The numbers. Value type, thread-compatible.
struct BatchCounts {
  uint64_t refused = 0;
  uint64_t unrefused = 0;  // applied, duplicate, stale, observed only
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_BATCH_COUNTS_H_
