// Threads for the long passes of core/plan.
#ifndef FRESHET_TOOLS_COMMON_THREADED_FOR_H_
#define FRESHET_TOOLS_COMMON_THREADED_FOR_H_

#include "core/plan/parallel.h"

namespace freshet {

// An executor that spreads the chunks of each call over `threads` threads, which start and end
// with the call (some 50 us, against passes of milliseconds). threads = 0: as many as the machine
// has cores; where fewer can be had, those. The result may be called from one thread at a time.
[[nodiscard]] ParallelFor ThreadedFor(unsigned threads);

}  // namespace freshet

#endif  // FRESHET_TOOLS_COMMON_THREADED_FOR_H_
