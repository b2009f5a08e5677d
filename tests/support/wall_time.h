// How tests wait for other threads and processes. Tests sleep only here, because a loop without a
// pause would take processor time from these threads and processes.
#ifndef FRESHET_TESTS_SUPPORT_WALL_TIME_H_
#define FRESHET_TESTS_SUPPORT_WALL_TIME_H_

#include <chrono>
#include <thread>

#include "core/base/units.h"

namespace freshet {

// Lets real time pass. Only for tests that have neither a clock to set nor a condition to check: a
// client that pauses, a slow disk, a period without events.
inline void LetPass(Duration time) { std::this_thread::sleep_for(time.chrono()); }

// The pause between two checks of a condition.
inline constexpr Duration kLookPause = Duration::Millis(2);

// Checks `condition` until it is true. If it never is, the test's time limit ends the wait.
template <typename Condition>
void WaitUntil(const Condition& condition) {
  while (!condition()) LetPass(kLookPause);
}

// Checks `condition` until it is true, for at most `timeout`. Returns true if it is.
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
