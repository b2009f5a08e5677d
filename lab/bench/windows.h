// Measures how constant the rate of events is, over all windows of time.
#ifndef FRESHET_LAB_BENCH_WINDOWS_H_
#define FRESHET_LAB_BENCH_WINDOWS_H_

#include <cstdint>
#include <vector>

namespace freshet {

struct WindowExtremes {
  // The server promises at most ceil(R w) + 1 events in any window of length w >= 10 ms, where R is
  // the rate. `too_many` is the largest excess over this bound. The promise is kept if it is at
  // most 0.
  int64_t too_many = 0;
  int64_t too_many_us = 0;  // length of that window
  // The server also promises at least floor(R w) - 1 events in each of these windows. `too_few` is
  // the largest lack of events below this bound.
  int64_t too_few = 0;
};

// Returns the extremes for events at the times `times_us`, which must rise. The requested rate R is
// between `least` and `most` per second. A negative figure is the distance of the closest window
// from its bound. All figures are 0 for fewer than two events.
[[nodiscard]] WindowExtremes ExtremesOfWindows(const std::vector<int64_t>& times_us, double least,
                                               double most);

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_WINDOWS_H_
