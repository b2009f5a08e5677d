// The work of freshet-bench serve without network: store and shards alone, so that the cost of the
// wire can be told from that of the engine.
#ifndef FRESHET_BENCH_IN_PROCESS_H_
#define FRESHET_BENCH_IN_PROCESS_H_

#include "bench/serve_rows.h"
#include "core/base/status.h"

namespace freshet {

// Loads the pages and prints the rows that are asked for, but for those of `next` and those that
// only differ in their number of clients: there is one. Processor time of the server is that of all
// threads but the one that makes the events. Errors of the store.
[[nodiscard]] Status MeasureInProcess(const ServeFlags& flags);

}  // namespace freshet

#endif  // FRESHET_BENCH_IN_PROCESS_H_
