// The pages of a running server, and what it believes of them.
#ifndef FRESHET_TOOLS_WHAT_IF_SERVER_PAGES_H_
#define FRESHET_TOOLS_WHAT_IF_SERVER_PAGES_H_

#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "tools/cli/session.h"
#include "tools/sim/what_if.h"

namespace freshet {

// Value type, thread-compatible.
struct ServerPages {
  uint64_t all_pages = 0;     // that are not gone
  double crawls_per_day = 0;  // that the server may hand out
};

// Adds the pages that are not gone to the sample. They are exported in chunks, the first `limit` of
// them, > 0: those of hosts that a hash chooses, since that is the order of the export. All sources
// of a page are one, of the recall and the false signals that its rates stand for. Unavailable
// where there is no server, or it goes away; any other answer of it as FailedPrecondition.
[[nodiscard]] StatusOr<ServerPages> ReadServerPages(cli::Session& session, uint64_t limit,
                                                    PageSample* sample);

}  // namespace freshet

#endif  // FRESHET_TOOLS_WHAT_IF_SERVER_PAGES_H_
