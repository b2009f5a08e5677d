// Limits on items per second for named clients or signal sources. Each name has a separate bucket
// (item_budget.h), so a name that sends too much does not slow the others.
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

// Buckets by name. A full bucket that no stream holds can be evicted. Names beyond the limit share
// one bucket, but names with a configured rate always have a bucket. Thread-safe.
class NamedBudgets {
 public:
  // `usual`: items per second for names without a configured rate; 0 = no limit. At most `most`
  // names have a bucket.
  explicit NamedBudgets(double usual, size_t most = limits::kMaxClients)
      : usual_(usual), most_(most) {}

  // Returns the bucket of `name`; nullptr = no limit. `own`: the rate configured for this name, >
  // 0. A stream keeps the bucket while it is open, so that the bucket is not evicted.
  [[nodiscard]] std::shared_ptr<ItemBudget> Of(const std::string& name, std::optional<double> own,
                                               Instant now) FRESHET_EXCLUDES(mutex_);
  // The number of names that have a bucket.
  [[nodiscard]] size_t size() const FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] double usual() const { return usual_; }
  // Sets the rate of names without a configured rate. The rate takes effect at the next call of Of.
  void SetUsual(double usual) { usual_ = usual; }

 private:
  void MakeRoom(Instant now) FRESHET_REQUIRES(mutex_);

  Live<double> usual_;
  const size_t most_;
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<ItemBudget>> by_name_ FRESHET_GUARDED_BY(mutex_);
  // The shared bucket of the names beyond the limit.
  std::shared_ptr<ItemBudget> others_ FRESHET_GUARDED_BY(mutex_);
  Instant made_room_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_NAMED_BUDGETS_H_
