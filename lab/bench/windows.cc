#include "lab/bench/windows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace freshet {
namespace {

constexpr int64_t kShortestWindowUs = 10'000;

}  // namespace

WindowExtremes ExtremesOfWindows(const std::vector<int64_t>& times_us, double least, double most) {
  WindowExtremes extremes;
  const size_t n = times_us.size();
  if (n < 2) return extremes;
  extremes.too_many = extremes.too_few = std::numeric_limits<int64_t>::min();
  // The excess of a window from event i to event j is (j - i + 1) - R (t_j - t_i) - 1. For each j,
  // it is greatest for the event i with the greatest R t_i - i. Windows of the shortest length are
  // checked separately.
  size_t first = 0;   // the earliest event within the shortest window that ends at j
  size_t best = n;    // the best event before `first`
  size_t widest = n;  // for gaps: the event with the smallest R t_i - i
  const auto lead = [&](size_t i, double rate) {
    return rate * static_cast<double>(times_us[i]) / 1e6 - static_cast<double>(i);
  };
  const auto take = [&](size_t i, size_t j) {
    const int64_t length = std::max(times_us[j] - times_us[i], kShortestWindowUs);
    const auto allowed =
        static_cast<int64_t>(std::ceil(most * static_cast<double>(length) / 1e6)) + 1;
    const int64_t over = static_cast<int64_t>(j - i + 1) - allowed;
    if (over > extremes.too_many) {
      extremes.too_many = over;
      extremes.too_many_us = length;
    }
  };
  for (size_t j = 0; j < n; ++j) {
    for (; times_us[j] - times_us[first] >= kShortestWindowUs; ++first) {
      if (best == n || lead(first, most) > lead(best, most)) best = first;
      if (widest == n || lead(first, least) < lead(widest, least)) widest = first;
    }
    take(first, j);
    if (best != n) take(best, j);
    // A window from just after event i to just before event j holds the events between them.
    if (widest != n) {
      const double length = static_cast<double>(times_us[j] - times_us[widest]) / 1e6;
      const auto due = static_cast<int64_t>(std::floor(least * length)) - 1;
      extremes.too_few = std::max(extremes.too_few, due - static_cast<int64_t>(j - widest - 1));
    }
  }
  // No two events are far enough apart for a window of the shortest length.
  if (extremes.too_few == std::numeric_limits<int64_t>::min()) extremes.too_few = 0;
  return extremes;
}

}  // namespace freshet
