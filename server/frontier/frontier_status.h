// The state of the crawl frontier, for operators and metrics.
#ifndef FRESHET_SERVER_FRONTIER_FRONTIER_STATUS_H_
#define FRESHET_SERVER_FRONTIER_FRONTIER_STATUS_H_

#include <cstdint>

#include "core/base/status.h"
#include "server/frontier/frontier_counts.h"
#include "storage/frontier_store.h"

namespace freshet {

// The state at one moment. Value type, thread-compatible.
struct FrontierStatus {
  FrontierTotals totals;
  FrontierCounts counts;
  uint64_t crawls = 0;
  uint64_t waiting_urls = 0;  // in the mailbox
  bool active = true;
  FrontierStoreStats store;
  Status health;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_STATUS_H_
