#include "server/frontier/passing_queues.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "server/frontier/queue_table.h"

namespace freshet {

bool PassingQueues::Holds(const QueueTable& table, const std::optional<std::string>& crawl,
                          const std::string& key) {
  if (!crawl || key.empty()) return false;
  const FrontierQueue* queue = table.Find(*crawl, key);
  return queue != nullptr && queue->passing();
}

void PassingQueues::SetHead(QueueTable& table, FrontierQueue& queue, FrontierStore::DueScan scan,
                            bool full) {
  FrontierHead is = FrontierHead::kFirst;
  if (scan.left_off && !full) {
    is = FrontierHead::kPassing;
    queues_.insert(queue.id);
  } else if (scan.passed >= kMostPerPull / 2 || queue.head != FrontierHead::kFirst) {
    // With a shortened head, each pull would skip these rows again, and also the rows that the pull
    // itself deletes.
    is = FrontierHead::kWhole;
  }
  table.SetHead(queue, std::move(scan.next), is);
}

StatusOr<bool> PassingQueues::Pass(const FrontierStore& store, QueueTable& table, uint64_t now,
                                   uint64_t most) {
  // Must exceed the number of versions of one row, so that each scan makes progress.
  constexpr uint64_t kLeast = 64;
  uint64_t passed = 0;
  for (size_t left = queues_.size(); left > 0 && passed < most; --left) {
    auto it = queues_.upper_bound(last_);
    if (it == queues_.end()) it = queues_.begin();
    last_ = *it;
    FrontierQueue* queue = table.Find(*it);
    // Queues leave the set only here, where nothing is staged, because a staged change of a head
    // can be undone.
    if (queue == nullptr || !queue->passing()) {
      queues_.erase(it);
      continue;
    }
    CHECK(queue->record.head.has_value(), "a queue without a head has nothing to pass over");
    const FrontierDue from = *queue->record.head;
    StatusOr<FrontierStore::DueScan> scan =
        store.ScanDue(queue->id, from, now, 0, std::max(most - passed, kLeast));
    if (!scan.ok()) {
      table.SetHead(*queue, from);
      table.File(*queue, now);
      return scan.status();
    }
    passed += 1 + scan->passed;
    table.SetHead(*queue, std::move(scan->next),
                  scan->left_off ? FrontierHead::kPassing : FrontierHead::kWhole);
    table.File(*queue, now);
  }
  return !queues_.empty();
}

}  // namespace freshet
