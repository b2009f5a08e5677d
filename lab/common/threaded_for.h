// Runs the long passes of core/plan on several threads.
#ifndef FRESHET_LAB_COMMON_THREADED_FOR_H_
#define FRESHET_LAB_COMMON_THREADED_FOR_H_

#include "core/plan/parallel.h"

namespace freshet {

// Returns an executor that spreads the chunks of each call over `threads` threads, which start and
// end with the call (some 50 us, against passes of milliseconds). 0 = one thread per core. Uses
// fewer threads if the system refuses more. The result may be called by one thread at a time.
[[nodiscard]] ParallelFor ThreadedFor(unsigned threads);

}  // namespace freshet

#endif  // FRESHET_LAB_COMMON_THREADED_FOR_H_
