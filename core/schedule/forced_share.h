// Chooses the ticks at which forced pages (max_interval is over, or a recheck) go first: a share of
// all ticks, so that forced pages leave the rest to pages by value.
#ifndef FRESHET_CORE_SCHEDULE_FORCED_SHARE_H_
#define FRESHET_CORE_SCHEDULE_FORCED_SHARE_H_

#include <cstddef>
#include <vector>

namespace freshet {

// Thread-compatible.
class ForcedShare {
 public:
  static constexpr double kUsual = 0.25;

  // `share` of the ticks, from 0 to 1.
  explicit ForcedShare(double share) : share_(share) {}

  // For each of the next ticks: whether forced pages go first. Over any run of ticks as many as the
  // share says, or one more.
  [[nodiscard]] std::vector<bool> Next(size_t ticks) {
    std::vector<bool> first(ticks);
    for (size_t i = 0; i < ticks; ++i) {
      owed_ += share_;
      // The first forced page need not wait until a whole tick is owed.
      first[i] = owed_ > 0;
      if (first[i]) owed_ -= 1;
    }
    return first;
  }

 private:
  const double share_;
  double owed_ = 0;  // ticks
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_FORCED_SHARE_H_
