// The crawl frontier in memory, and the staged changes of a turn, which one commit makes durable.
// The parts of FrontierState share this struct.
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

  // Marks the queue as changed, so that the next commit writes its record.
  void Touch(FrontierQueue& queue);
  // Returns true if the queue has neither URLs nor settings.
  [[nodiscard]] bool IsOver(const FrontierQueue& queue) const;
  // Removes a queue that has neither URLs nor settings. Marks any other queue as changed, and files
  // it.
  void Settle(FrontierQueue& queue);
  // Removes the queue, and also its crawl id if this was the last queue.
  void RemoveEmpty(FrontierQueue& queue);
  // Changes when a URL in flight will be due after its flight. The URL stays in flight.
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
