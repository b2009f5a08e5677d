// Queues with many deleted rows before their first URL. The frontier skips ("passes") these rows a
// part at a time, and serves other queues in between.
#ifndef FRESHET_SERVER_FRONTIER_PASSING_QUEUES_H_
#define FRESHET_SERVER_FRONTIER_PASSING_QUEUES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/btree_set.h"
#include "core/base/status.h"
#include "storage/frontier_store.h"

namespace freshet {

class QueueTable;
struct FrontierQueue;

// The queues whose head is FrontierHead::kPassing. All changes of heads are made in the table,
// which can undo them. Thread-compatible.
class PassingQueues {
 public:
  // The number of deleted rows after which a pull ends, so that other calls can be served.
  static constexpr uint64_t kMostPerPull = 1024;

  // Returns true if `crawl` and `key` name one queue, and that queue serves nothing because it is
  // passing.
  [[nodiscard]] static bool Holds(const QueueTable& table, const std::optional<std::string>& crawl,
                                  const std::string& key);
  // Called after the scan of a pull. Sets the queue's head to `scan.next`. `full`: the pull had no
  // room for all URLs that the scan found.
  void SetHead(QueueTable& table, FrontierQueue& queue, FrontierStore::DueScan scan, bool full);
  // Skips about `most` deleted rows, in one queue after the other. Returns true if some queues
  // still have rows to skip. Writes nothing, so that after a restart the work begins at the stored
  // head again. Precondition: nothing is staged. Not OK: the store cannot be read. Later pulls of
  // the queue report the same error.
  [[nodiscard]] StatusOr<bool> Pass(const FrontierStore& store, QueueTable& table, uint64_t now,
                                    uint64_t most);

 private:
  // Can include queues that no longer pass or were deleted since.
  absl::btree_set<FrontierQueueId> queues_;
  FrontierQueueId last_;  // the last queue that Pass has worked on
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_PASSING_QUEUES_H_
