// Bounds the processor time of each turn of a thread that serves many clients.
#ifndef FRESHET_SERVER_BASE_TURN_SIZE_H_
#define FRESHET_SERVER_BASE_TURN_SIZE_H_

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/units.h"

namespace freshet {

// The processor time of the calling thread. Wall-clock time would depend on the machine's other
// load.
[[nodiscard]] inline Duration ThreadCpuTime() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return Duration::Micros(int64_t{used.tv_sec} * 1'000'000 + used.tv_nsec / 1'000);
}

// Chooses the number of events for a turn from the processor time that events took in earlier
// turns. A fixed number would not do: clients decide how expensive their events are, and all other
// clients wait until the turn ends. Owner thread only.
class TurnSize {
 public:
  // A turn takes at least `least` events, so that one commit covers many of them, and at most
  // `most`. It should take no longer than `time`.
  TurnSize(size_t least, size_t most, Duration time)
      : least_(least), most_(most), time_(time), events_(most) {}

  [[nodiscard]] size_t events() const { return events_; }
  // Records a turn that served `events` events in the processor time `time`. `commit`: how long the
  // commit of the turn took, on any thread. If the commit is slow, the next turn may take as long
  // as the commit did.
  void Took(size_t events, Duration time, Duration commit = {}) {
    if (events == 0) return;
    const Duration aim = std::max(time_, commit);
    const double fits = static_cast<double>(events) * aim.seconds() /
                        std::max(time.seconds(), Duration::Micros(1).seconds());
    const auto size = static_cast<size_t>(std::min(fits, static_cast<double>(most_)));
    // A short turn of few events says little about long turns, so the size at most doubles.
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
