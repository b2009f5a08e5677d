// Chooses the ticks at which forced pages are picked first. A page is forced if its max_interval
// has passed or a recheck is requested. Only a share of all ticks is chosen, so that pages with
// high values get the rest.
#ifndef FRESHET_CORE_SCHEDULE_FORCED_SHARE_H_
#define FRESHET_CORE_SCHEDULE_FORCED_SHARE_H_

#include <cstddef>
#include <vector>

namespace freshet {

// Thread-compatible.
class ForcedShare {
 public:
  static constexpr double kUsual = 0.25;

  // `share` is the share of ticks for forced pages, 0 to 1.
  explicit ForcedShare(double share) : share_(share) {}

  // Returns for each of the next ticks whether forced pages are picked first. In the first n ticks,
  // forced pages are first in `share` x n ticks, rounded up.
  [[nodiscard]] std::vector<bool> Next(size_t ticks) {
    std::vector<bool> first(ticks);
    for (size_t i = 0; i < ticks; ++i) {
      owed_ += share_;
      // The tick is chosen as soon as a part of it is owed. So the first forced page need not wait
      // until a whole tick is owed.
      first[i] = owed_ > 0;
      if (first[i]) owed_ -= 1;
    }
    return first;
  }

 private:
  const double share_;
  double owed_ = 0;  // in ticks
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_FORCED_SHARE_H_
