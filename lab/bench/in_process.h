// The work of freshet-bench serve without network: only store and shards, to separate the cost of
// the wire from that of the engine.
#ifndef FRESHET_LAB_BENCH_IN_PROCESS_H_
#define FRESHET_LAB_BENCH_IN_PROCESS_H_

#include "core/base/status.h"
#include "lab/bench/serve_rows.h"

namespace freshet {

// Loads the pages and prints the requested rows, with one client each, except those of `next`.
// Processor time of the server is that of all threads except the one that makes events. Errors:
// those of the store.
[[nodiscard]] Status MeasureInProcess(const ServeFlags& flags);

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_IN_PROCESS_H_
