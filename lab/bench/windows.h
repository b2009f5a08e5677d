// Measures how constant the rate of events is, over all windows of time.
#ifndef FRESHET_LAB_BENCH_WINDOWS_H_
#define FRESHET_LAB_BENCH_WINDOWS_H_

#include <cstdint>
#include <vector>

namespace freshet {

struct WindowExtremes {
  // The largest excess of events over ceil(R w) + 1, which the server promises, in any window of w
  // >= 10 ms. If it is at most 0, the promise is kept.
  int64_t too_many = 0;
  int64_t too_many_us = 0;  // length of that window
  // The largest lack of events below floor(R w) - 1 in any such window.
  int64_t too_few = 0;
};

// Returns the extremes for events at the times `times_us`, which must rise. The requested rate R is
// between `least` and `most` per second. A negative figure is the distance of the closest window
// from its bound. All figures are 0 for fewer than two events.
[[nodiscard]] WindowExtremes ExtremesOfWindows(const std::vector<int64_t>& times_us, double least,
                                               double most);

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_WINDOWS_H_
