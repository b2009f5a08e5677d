// Reads the pages of a running server, with its estimated rates.
#ifndef FRESHET_LAB_WHAT_IF_SERVER_PAGES_H_
#define FRESHET_LAB_WHAT_IF_SERVER_PAGES_H_

#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "lab/sim/what_if.h"
#include "tools/cli/session.h"

namespace freshet {

// Figures of a server. Value type, thread-compatible.
struct ServerPages {
  uint64_t all_pages = 0;     // pages that are not gone
  double crawls_per_day = 0;  // the crawl rate of the server
};

// Adds to the sample the first `limit` > 0 exported pages that are not gone. Because of the order
// of the export, these are the pages of hosts that a hash chooses. All sources of a page count as
// one, with the recall and the false signals of its rates. Unavailable: there is no server, or it
// stops. Other failures of the server become FailedPrecondition.
[[nodiscard]] StatusOr<ServerPages> ReadServerPages(cli::Session& session, uint64_t limit,
                                                    PageSample* sample);

}  // namespace freshet

#endif  // FRESHET_LAB_WHAT_IF_SERVER_PAGES_H_
