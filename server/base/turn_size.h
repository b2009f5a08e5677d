// Bounds the turns of a thread that serves many clients by processor time.
#ifndef FRESHET_SERVER_BASE_TURN_SIZE_H_
#define FRESHET_SERVER_BASE_TURN_SIZE_H_

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/units.h"

namespace freshet {

// The processor time of the calling thread: how much a turn takes must not depend on other load of
// the machine.
[[nodiscard]] inline Duration ThreadCpuTime() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return Duration::Micros(int64_t{used.tv_sec} * 1'000'000 + used.tv_nsec / 1'000);
}

// How many events a turn takes, by what they cost in the turns before. Clients choose the cost of
// their events, and others wait for the end of the turn. Owner thread only.
class TurnSize {
 public:
  // A turn takes at least `least` events, so that one commit covers many, and at most `most`. It is
  // to take no longer than `time`.
  TurnSize(size_t least, size_t most, Duration time)
      : least_(least), most_(most), time_(time), events_(most) {}

  [[nodiscard]] size_t events() const { return events_; }
  // A turn took so much processor time for so many events. `commit`: how long its commit took, on
  // any thread; where the disk is slow, a turn may take as long.
  void Took(size_t events, Duration time, Duration commit = {}) {
    if (events == 0) return;
    const Duration aim = std::max(time_, commit);
    const double fits = static_cast<double>(events) * aim.seconds() /
                        std::max(time.seconds(), Duration::Micros(1).seconds());
    const auto size = static_cast<size_t>(std::min(fits, static_cast<double>(most_)));
    // A short turn of few events says little of long ones.
    events_ = time > aim ? std::max(size, least_)
                         : std::clamp(std::min(size, 2 * events), events_, most_);
  }

 private:
  const size_t least_;
  const size_t most_;
  const Duration time_;
  size_t events_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_TURN_SIZE_H_
