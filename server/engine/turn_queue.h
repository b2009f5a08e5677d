// A queue of workers with credit. Some workers take only pages of some crawl ids. Clients take
// turns, and the workers of one client share its turns. So a client with many workers gets no more
// pages than a client with one.
#ifndef FRESHET_SERVER_ENGINE_TURN_QUEUE_H_
#define FRESHET_SERVER_ENGINE_TURN_QUEUE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "core/schedule/crawl_terms.h"

namespace freshet {

using WorkerId = uint64_t;

// The queue. It has one row for each set of classes that workers take, so that all workers that do
// not take a page are skipped at once. Thread-compatible.
class TurnQueue {
 public:
  // Returns true if the worker still takes a page. If not, the worker leaves the queue.
  using Usable = absl::FunctionRef<bool(WorkerId)>;

  // The place of an entry. Every client has one turn in each round. Within a round, entries are in
  // the order of Push.
  struct Turn {
    uint64_t round = 0;
    uint64_t order = 0;
    auto operator<=>(const Turn&) const = default;
  };

  // Adds a worker behind all other workers of its client. The client gets a turn in one more round.
  // `takes`: the classes that the worker takes. Precondition: the worker is not in the queue. The
  // worker leaves the queue by Pop, by Remove, or when `usable` rejects it.
  Turn Push(WorkerId id, ClassSet takes, const std::string& client);
  // Removes the entry that Push has added. Precondition: the entry is in the queue.
  void Remove(ClassSet takes, const Turn& turn);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // The number of entries: one for each worker in the queue.
  [[nodiscard]] size_t size() const { return size_; }

  // Removes and returns the first usable worker that takes pages of all these classes. The cost is
  // linear in the number of rows and of unusable workers.
  [[nodiscard]] std::optional<WorkerId> Pop(ClassSet classes, Usable usable);
  // The classes that at least one usable worker takes. Same cost as Pop.
  [[nodiscard]] ClassSet Takes(Usable usable);

 private:
  // A client with entries. A client without entries saves up no turns.
  struct Client {
    uint64_t last_round = 0;
    size_t entries = 0;
  };
  using Clients = std::map<std::string, Client>;
  struct Entry {
    WorkerId id = 0;
    Clients::iterator client;
  };
  using Row = std::map<Turn, Entry>;

  void Erase(Row& row, Row::iterator entry);
  void DropUnusable(Row& row, Usable usable);

  uint64_t round_ = 0;  // the highest round of all popped entries
  uint64_t next_ = 0;
  size_t size_ = 0;
  std::map<ClassSet, Row> rows_;  // no row is empty
  Clients clients_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_TURN_QUEUE_H_
