// How many items each of many may send in a second: clients, or sources of signals. Each has a
// bucket of its own (item_budget.h), so one that sends too much slows nobody else.
#ifndef FRESHET_SERVER_BASE_NAMED_BUDGETS_H_
#define FRESHET_SERVER_BASE_NAMED_BUDGETS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "server/base/item_budget.h"
#include "server/base/limits.h"
#include "server/base/live.h"
#include "sync/mutex.h"

namespace freshet {

// Remembers those that have sent something lately: a bucket that is full again, and that nobody
// holds, makes room for others. Where even so too many are remembered, those that are not share
// one bucket; those with a rate of their own always have theirs. Thread-safe.
class NamedBudgets {
 public:
  // Items a second of whoever has no rate of its own; 0: any number. At most `most` have a bucket.
  explicit NamedBudgets(double usual, size_t most = limits::kMaxClients)
      : usual_(usual), most_(most) {}

  // `own`: its own rate, > 0. Null: it may send any number. To be held for as long as a stream is
  // open, so that it is always the same.
  [[nodiscard]] std::shared_ptr<ItemBudget> Of(const std::string& name, std::optional<double> own,
                                               Instant now) FRESHET_EXCLUDES(mutex_);
  // That have a bucket.
  [[nodiscard]] size_t size() const FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] double usual() const { return usual_; }
  // From the next Of on.
  void SetUsual(double usual) { usual_ = usual; }

 private:
  void MakeRoom(Instant now) FRESHET_REQUIRES(mutex_);

  Live<double> usual_;
  const size_t most_;
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<ItemBudget>> by_name_ FRESHET_GUARDED_BY(mutex_);
  // Of those for whom there is no room.
  std::shared_ptr<ItemBudget> others_ FRESHET_GUARDED_BY(mutex_);
  Instant made_room_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_NAMED_BUDGETS_H_
