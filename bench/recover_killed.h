// A start after kill -9 under full load.
#ifndef FRESHET_BENCH_RECOVER_KILLED_H_
#define FRESHET_BENCH_RECOVER_KILLED_H_

#include "bench/served.h"
#include "bench/synthetic_store.h"
#include "core/base/status.h"

namespace freshet {

// Loads the pages into a server of our own, has it crawl and take signals for `load_seconds` as
// fast as it can, kills it, and prints how long it takes to serve again, by what it does meanwhile.
// Unavailable: the server does not come back, or cannot be reached.
[[nodiscard]] Status MeasureKilled(const SyntheticOptions& pages, const ServedOptions& options,
                                   double load_seconds);

}  // namespace freshet

#endif  // FRESHET_BENCH_RECOVER_KILLED_H_
