// A queue of workers with credit; some take only pages of some crawl ids. Clients take turns, and
// the workers of a client take turns within its own. So the others get as much as a client with
// many workers.
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

// The queue, with a row for each set of classes that workers take, so that workers that do not take
// a page are skipped together. Thread-compatible.
class TurnQueue {
 public:
  // Whether the worker still takes a page. If not, it is no longer in the queue.
  using Usable = absl::FunctionRef<bool(WorkerId)>;

  // The place of an entry. Every client has one turn in a round. Within a round, entries come in
  // the order of Push.
  struct Turn {
    uint64_t round = 0;
    uint64_t order = 0;
    auto operator<=>(const Turn&) const = default;
  };

  // Adds a worker behind all others of its client. The client gets one more turn, behind one of
  // each other client. `takes`: the classes that it takes. The worker leaves by Pop, by Remove, or
  // once `usable` rejects it: until then it is not pushed again.
  Turn Push(WorkerId id, ClassSet takes, const std::string& client);
  // Takes out the entry that Push has added. Precondition: it is in the queue.
  void Remove(ClassSet takes, const Turn& turn);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // The number of entries: one for each worker in the queue.
  [[nodiscard]] size_t size() const { return size_; }

  // Takes out the first usable worker that takes pages of all these classes. Cost: a look at each
  // row and each unusable worker.
  [[nodiscard]] std::optional<WorkerId> Pop(ClassSet classes, Usable usable);
  // The classes that some usable worker takes. Same cost.
  [[nodiscard]] ClassSet Takes(Usable usable);

 private:
  // A client with entries. Earlier turns that it did not use do not count against it.
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

  uint64_t round_ = 0;  // the round of the last entry taken out
  uint64_t next_ = 0;
  size_t size_ = 0;
  std::map<ClassSet, Row> rows_;  // never empty ones
  Clients clients_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_TURN_QUEUE_H_
