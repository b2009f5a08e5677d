// Does the work of freshet-bench serve without a network, with only the store and the shards. This
// separates the cost of the network from the cost of the engine.
#ifndef FRESHET_LAB_BENCH_IN_PROCESS_H_
#define FRESHET_LAB_BENCH_IN_PROCESS_H_

#include "core/base/status.h"
#include "lab/bench/serve_rows.h"

namespace freshet {

// Loads the pages and prints the requested rows (ServeRow), except those of mode `next` and of the
// crawl-frontier API. Each row has one client. The server's processor time does not include the
// thread that makes the events. Errors: those of the store.
[[nodiscard]] Status MeasureInProcess(const ServeFlags& flags);

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_IN_PROCESS_H_
