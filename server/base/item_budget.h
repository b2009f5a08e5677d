// A limit on items per second (token bucket).
#ifndef FRESHET_SERVER_BASE_ITEM_BUDGET_H_
#define FRESHET_SERVER_BASE_ITEM_BUDGET_H_

#include <algorithm>
#include <cstdint>

#include "core/base/units.h"
#include "sync/mutex.h"

namespace freshet {

// A bucket that fills at a constant rate. Thread-safe.
class ItemBudget {
 public:
  // `per_second` > 0. The burst is one second's worth of items, but at least one item.
  explicit ItemBudget(double per_second)
      : per_second_(per_second), most_(std::max(per_second, 1.0)), left_(most_) {}

  // Takes `items`, even if fewer are left: the budget then goes into debt. Returns how long the
  // sender should pause; 0 = not at all.
  [[nodiscard]] Duration Take(uint64_t items, Instant now) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Fill(now);
    left_ -= static_cast<double>(items);
    return left_ >= 0 ? Duration() : Duration::FromSeconds(-left_ / per_second_);
  }
  // Takes the items unless the budget is in debt. If it is, takes nothing and returns how long the
  // sender should pause.
  [[nodiscard]] Duration TakeIfLeft(uint64_t items, Instant now) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Fill(now);
    if (left_ < 0) return Duration::FromSeconds(-left_ / per_second_);
    left_ -= static_cast<double>(items);
    return {};
  }
  // How long the sender should pause; 0 = not at all.
  [[nodiscard]] Duration Owed(Instant now) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Fill(now);
    return left_ >= 0 ? Duration() : Duration::FromSeconds(-left_ / per_second_);
  }
  // Returns true if the bucket is full, as it was at the start.
  [[nodiscard]] bool Full(Instant now) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Fill(now);
    return left_ >= most_;
  }
  [[nodiscard]] double per_second() const { return per_second_; }

 private:
  void Fill(Instant now) FRESHET_REQUIRES(mutex_) {
    const double passed = std::max(0.0, (now - filled_).seconds());
    left_ = std::min(most_, left_ + passed * per_second_);
    filled_ = std::max(filled_, now);
  }

  const double per_second_;
  const double most_;
  Mutex mutex_;
  double left_ FRESHET_GUARDED_BY(mutex_);
  Instant filled_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_ITEM_BUDGET_H_
