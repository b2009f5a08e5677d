// How tests wait for what another thread or process does by itself, and the only place where a test
// sleeps: a loop without a pause takes the processor from what it waits for.
#ifndef FRESHET_TESTS_SUPPORT_WALL_TIME_H_
#define FRESHET_TESTS_SUPPORT_WALL_TIME_H_

#include <chrono>
#include <thread>

#include "core/base/units.h"

namespace freshet {

// Lets so much time of the machine pass. Only for tests of what nobody can set a clock for and
// where there is nothing to look at: a client that pauses, a disk that is slow, a span without an
// event.
inline void LetPass(Duration time) { std::this_thread::sleep_for(time.chrono()); }

// Between two looks at a condition.
inline constexpr Duration kLookPause = Duration::Millis(2);

// Looks at `condition` until it holds. The time limit of the test ends a vain wait.
template <typename Condition>
void WaitUntil(const Condition& condition) {
  while (!condition()) LetPass(kLookPause);
}

// Looks at `condition` until it holds, at most for `timeout`; whether it came to hold.
template <typename Condition>
[[nodiscard]] bool Eventually(const Condition& condition,
                              Duration timeout = Duration::Seconds(60)) {
  const auto end = std::chrono::steady_clock::now() + timeout.chrono();
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    LetPass(kLookPause);
  }
  return condition();
}

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_WALL_TIME_H_
