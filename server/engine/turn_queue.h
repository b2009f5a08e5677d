// Workers that have credit, in the order of their turns, where some take only pages of some crawl
// ids. Clients take turns, and the workers of a client take turns within its own: however many
// workers a client has, the others get as much as it does.
#ifndef FRESHET_SERVER_ENGINE_TURN_QUEUE_H_
#define FRESHET_SERVER_ENGINE_TURN_QUEUE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "core/schedule/crawl_terms.h"

namespace freshet {

using WorkerId = uint64_t;

// A row for each set of classes that workers take, so that those who do not take a page are passed
// over together. Thread-compatible.
class TurnQueue {
 public:
  // Whether the worker still takes a page. One that does not is no longer in the queue.
  using Usable = absl::FunctionRef<bool(WorkerId)>;

  // Behind all others of its client, which comes once more behind each other client. `takes`:
  // classes of which it takes pages.
  void Push(WorkerId id, ClassSet takes, const std::string& client);
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  // Takes out the first of the usable ones that take pages of all these classes. Costs a look at
  // each row, and at those that are not usable.
  [[nodiscard]] std::optional<WorkerId> Pop(ClassSet classes, Usable usable);
  // What the usable ones take, each some of it. Costs the same.
  [[nodiscard]] ClassSet Takes(Usable usable);
  // Takes out all for which `wanted` is true, in the order of their turns within a row. Linear.
  std::vector<WorkerId> Extract(absl::FunctionRef<bool(WorkerId)> wanted);

 private:
  // Every client has one turn in a round. In a round the one that was put in first comes first.
  struct Turn {
    uint64_t round = 0;
    uint64_t order = 0;
    auto operator<=>(const Turn&) const = default;
  };
  using Row = std::map<Turn, WorkerId>;

  static void DropUnusable(Row& row, Usable usable);

  uint64_t round_ = 0;  // of the last that was taken out
  uint64_t next_ = 0;
  std::map<ClassSet, Row> rows_;                            // none is empty
  absl::flat_hash_map<std::string, uint64_t> last_rounds_;  // by client; no entry: round_ or before
  size_t tidy_at_ = 64;                                     // entries
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_TURN_QUEUE_H_
