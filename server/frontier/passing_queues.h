// Queues with many deleted rows before their first URL: the frontier passes over these rows a part
// at a time, and others have their turns in between.
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

// The queues whose head is FrontierHead::kPassing. Each change of a head is one of the table, which
// can undo it. Thread-compatible.
class PassingQueues {
 public:
  // Deleted rows that a pull passes over before others have their turn.
  static constexpr uint64_t kMostPerPull = 1024;

  // Whether that queue serves nothing only because it is passing.
  [[nodiscard]] static bool Holds(const QueueTable& table, const std::optional<std::string>& crawl,
                                  const std::string& key);
  // Sets the queue's head from the scan of a pull: where the scan left off, unless `full` says that
  // the pull left off before.
  void SetHead(QueueTable& table, FrontierQueue& queue, FrontierStore::DueScan scan, bool full);
  // Passes over about `most` rows, in one queue after the other. Precondition: nothing is staged.
  // Returns whether there are more. Writes nothing: a restart begins at the stored head. Not OK:
  // the store cannot be read, which pulls of the queue will report.
  [[nodiscard]] StatusOr<bool> Pass(const FrontierStore& store, QueueTable& table, uint64_t now,
                                    uint64_t most);

 private:
  // With some that no longer pass, or were deleted since.
  absl::btree_set<FrontierQueueId> queues_;
  FrontierQueueId last_;  // that had its turn
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_PASSING_QUEUES_H_
