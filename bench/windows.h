// How far events keep to a constant rate, over all windows of time.
#ifndef FRESHET_BENCH_WINDOWS_H_
#define FRESHET_BENCH_WINDOWS_H_

#include <cstdint>
#include <vector>

namespace freshet {

struct WindowExtremes {
  // The most events that any window of w >= 10 ms has above ceil(R w) + 1, which is what the server
  // promises; at most 0: the promise is kept.
  int64_t too_many = 0;
  int64_t too_many_us = 0;  // the length of that window
  // The most that any such window lacks to floor(R w) - 1.
  int64_t too_few = 0;
};

// Of events at rising `times_us`. `least` and `most`, a second, bound the rate R that was asked for
// while they came. Negative figures say how far the closest window stays from its bound. Fewer than
// two events: all zero.
[[nodiscard]] WindowExtremes ExtremesOfWindows(const std::vector<int64_t>& times_us, double least,
                                               double most);

}  // namespace freshet

#endif  // FRESHET_BENCH_WINDOWS_H_
