// Workers that have credit, in the order of their turns, where some take only pages of some crawl
// ids.
#ifndef FRESHET_SERVER_ENGINE_TURN_QUEUE_H_
#define FRESHET_SERVER_ENGINE_TURN_QUEUE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/schedule/crawl_table.h"

namespace freshet {

using WorkerId = uint64_t;

// A row for each set of classes that workers take, so that those who do not take a page are passed
// over together. Thread-compatible.
class TurnQueue {
 public:
  // Whether the worker still takes a page. One that does not is no longer in the queue.
  using Usable = absl::FunctionRef<bool(WorkerId)>;

  // Behind all others. `takes`: classes of which it takes pages.
  void Push(WorkerId id, ClassSet takes) { rows_[takes].push_back({next_turn_++, id}); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  // Takes out the first of the usable ones that take pages of all these classes. Costs a look at
  // each row, and at those that are not usable.
  [[nodiscard]] std::optional<WorkerId> Pop(ClassSet classes, Usable usable);
  // What the usable ones take, each some of it. Costs the same.
  [[nodiscard]] ClassSet Takes(Usable usable);
  // Takes out all for which `wanted` is true, in the order of their turns within a row. Linear.
  std::vector<WorkerId> Extract(absl::FunctionRef<bool(WorkerId)> wanted);

 private:
  struct Turn {
    uint64_t turn = 0;
    WorkerId id = 0;
  };
  using Row = std::deque<Turn>;

  static void DropUnusable(Row& row, Usable usable);

  uint64_t next_turn_ = 0;
  std::map<ClassSet, Row> rows_;  // none is empty
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_TURN_QUEUE_H_
