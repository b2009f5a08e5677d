// The memory of the crawl frontier and the changes of a turn, which one commit makes durable. The
// parts of FrontierState share it.
#ifndef FRESHET_SERVER_FRONTIER_FRONTIER_STAGE_H_
#define FRESHET_SERVER_FRONTIER_FRONTIER_STAGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/frontier/frontier_counts.h"
#include "server/frontier/frontier_limits.h"
#include "storage/frontier_store.h"

namespace freshet {

class QueueTable;
struct FrontierQueue;

// Owner thread only.
struct FrontierStage {
  FrontierStage(FrontierStore& frontier_store, const FrontierLimits& frontier_limits);
  ~FrontierStage();
  FrontierStage(const FrontierStage&) = delete;
  FrontierStage& operator=(const FrontierStage&) = delete;

  // Marks the queue as changed, so that its record is written.
  void Touch(FrontierQueue& queue);
  // Marks the queue as changed and files it, or removes one without URLs and settings.
  void Settle(FrontierQueue& queue);
  // Removes the queue, and its crawl id with the last one.
  void RemoveEmpty(FrontierQueue& queue);
  // Keeps a URL in flight, and makes it due at `due` after its flight.
  void MoveFlight(FrontierQueue& queue, const std::string& url, uint64_t due);

  FrontierStore& store;
  const FrontierLimits limits;
  uint64_t now = 0;  // in seconds since 1970
  FrontierSettings settings;
  std::unique_ptr<QueueTable> table;
  FrontierTotals totals;
  FrontierBatch batch;
  std::vector<FrontierQueueId> changed;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_STAGE_H_
