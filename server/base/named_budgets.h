// Limits on items per second by name, of clients or sources of signals. Each name has a bucket of
// its own (item_budget.h), so a name that sends too much does not slow the others.
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

// Buckets by name. A full bucket that no stream holds makes room for others. Names beyond the limit
// share one bucket; names with a rate of their own always have theirs. Thread-safe.
class NamedBudgets {
 public:
  // `usual`: items a second of names without a rate of their own; 0 = no limit. At most `most`
  // names have a bucket.
  explicit NamedBudgets(double usual, size_t most = limits::kMaxClients)
      : usual_(usual), most_(most) {}

  // `own`: the name's own rate, > 0. Returns nullptr for no limit. A stream holds the bucket while
  // it is open, so that it stays the same.
  [[nodiscard]] std::shared_ptr<ItemBudget> Of(const std::string& name, std::optional<double> own,
                                               Instant now) FRESHET_EXCLUDES(mutex_);
  // The number of names that have a bucket.
  [[nodiscard]] size_t size() const FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] double usual() const { return usual_; }
  // Takes effect from the next Of on.
  void SetUsual(double usual) { usual_ = usual; }

 private:
  void MakeRoom(Instant now) FRESHET_REQUIRES(mutex_);

  Live<double> usual_;
  const size_t most_;
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<ItemBudget>> by_name_ FRESHET_GUARDED_BY(mutex_);
  // The bucket of names for which there is no room.
  std::shared_ptr<ItemBudget> others_ FRESHET_GUARDED_BY(mutex_);
  Instant made_room_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_NAMED_BUDGETS_H_
