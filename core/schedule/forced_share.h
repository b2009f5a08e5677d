// At which ticks pages that are forced (their max_interval is over, or somebody asked for them) go
// first: a share of all, so that what one client may force leaves the rest to what pages are worth.
#ifndef FRESHET_CORE_SCHEDULE_FORCED_SHARE_H_
#define FRESHET_CORE_SCHEDULE_FORCED_SHARE_H_

#include <cstddef>
#include <vector>

namespace freshet {

// Thread-compatible.
class ForcedShare {
 public:
  static constexpr double kUsual = 0.25;

  // Of the ticks, from 0 to 1.
  explicit ForcedShare(double share) : share_(share) {}

  // Of the next ticks: whether such pages go first. Over any run of ticks as many as the share
  // says, or one more.
  [[nodiscard]] std::vector<bool> Next(size_t ticks) {
    std::vector<bool> first(ticks);
    for (size_t i = 0; i < ticks; ++i) {
      owed_ += share_;
      // The first that is owed a tick need not wait for a whole one.
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
