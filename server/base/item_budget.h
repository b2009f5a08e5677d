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
  // `per_second` > 0. A second's worth may come at once, and one item in any case.
  explicit ItemBudget(double per_second)
      : per_second_(per_second), most_(std::max(per_second, 1.0)), left_(most_) {}

  // Takes `items`, even more than are left: items are paid for afterwards. Returns how long nothing
  // more should come, 0 = no time.
  [[nodiscard]] Duration Take(uint64_t items, Instant now) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Fill(now);
    left_ -= static_cast<double>(items);
    return left_ >= 0 ? Duration() : Duration::FromSeconds(-left_ / per_second_);
  }
  // Takes the items if something is left. Else takes nothing and returns how long nothing should
  // come.
  [[nodiscard]] Duration TakeIfLeft(uint64_t items, Instant now) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Fill(now);
    if (left_ < 0) return Duration::FromSeconds(-left_ / per_second_);
    left_ -= static_cast<double>(items);
    return {};
  }
  // How long nothing should come, 0 = no time.
  [[nodiscard]] Duration Owed(Instant now) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Fill(now);
    return left_ >= 0 ? Duration() : Duration::FromSeconds(-left_ / per_second_);
  }
  // Whether the bucket is as full as at first.
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
