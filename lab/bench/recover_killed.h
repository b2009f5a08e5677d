// Measures how long a server takes to start after kill -9 under full load.
#ifndef FRESHET_LAB_BENCH_RECOVER_KILLED_H_
#define FRESHET_LAB_BENCH_RECOVER_KILLED_H_

#include "core/base/status.h"
#include "lab/bench/served.h"
#include "lab/bench/synthetic_store.h"

namespace freshet {

// Loads the pages into a new server, then sends results and signals for `load_seconds` at full
// speed. Kills the server, and prints how long each stage takes until it serves again. Unavailable:
// the server does not start again, or cannot be reached.
[[nodiscard]] Status MeasureKilled(const SyntheticOptions& pages, const ServedOptions& options,
                                   double load_seconds);

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_RECOVER_KILLED_H_
