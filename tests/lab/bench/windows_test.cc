// Compares the extremes over windows with a search over all windows.
#include "lab/bench/windows.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr int64_t kShortest = 10'000;

// Searches for the extremes in every window. For too many events, the windows are those from one
// event to another, or of the shortest length. For too few events, the windows are all gaps between
// two events.
WindowExtremes OfEveryWindow(const std::vector<int64_t>& times, double rate) {
  WindowExtremes extremes = {.too_many = INT64_MIN, .too_many_us = 0, .too_few = INT64_MIN};
  for (size_t i = 0; i < times.size(); ++i) {
    for (size_t j = i; j < times.size(); ++j) {
      const int64_t length = std::max(times[j] - times[i], kShortest);
      const double due = rate * static_cast<double>(length) / 1e6;
      const auto over = static_cast<int64_t>(j - i + 1) - static_cast<int64_t>(std::ceil(due)) - 1;
      extremes.too_many = std::max(extremes.too_many, over);
      if (times[j] - times[i] < kShortest) continue;
      const auto few = static_cast<int64_t>(std::floor(due)) - 1 - static_cast<int64_t>(j - i - 1);
      extremes.too_few = std::max(extremes.too_few, few);
    }
  }
  return extremes;
}

TEST(Windows, AreThoseOfEveryWindow) {
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    const double rate = 50 * std::pow(10, 2 * random.Uniform());
    std::vector<int64_t> times;
    double at = 1e15;
    for (int i = 0; i < 120; ++i) {
      // The events are mostly regular, with late events, groups and gaps.
      at += 1e6 / rate * (random.Below(10) == 0 ? 8 * random.Uniform() : 0.9);
      times.push_back(
          static_cast<int64_t>(at + (random.Below(5) == 0 ? 3000 * random.Uniform() : 0)));
    }
    std::sort(times.begin(), times.end());
    const WindowExtremes found = ExtremesOfWindows(times, rate, rate);
    const WindowExtremes all = OfEveryWindow(times, rate);
    // Rounding of R w can hide one event.
    EXPECT_NEAR(static_cast<double>(found.too_many), static_cast<double>(all.too_many), 1) << round;
    EXPECT_NEAR(static_cast<double>(found.too_few), static_cast<double>(all.too_few), 1) << round;
    EXPECT_LE(found.too_many, all.too_many);
    EXPECT_LE(found.too_few, all.too_few);
  }
}

TEST(Windows, ARateThatIsKeptHasNoneTooMany) {
  std::vector<int64_t> times;
  for (int i = 0; i < 5000; ++i) times.push_back(1'000'000 + i * 1000);
  const WindowExtremes extremes = ExtremesOfWindows(times, 1000, 1000);
  EXPECT_LE(extremes.too_many, 0);
  EXPECT_LE(extremes.too_few, 0);
  times.insert(times.begin() + 2500, 40, times[2500]);
  EXPECT_NEAR(static_cast<double>(ExtremesOfWindows(times, 1000, 1000).too_many), 40, 1);
  times.erase(times.begin() + 1000, times.begin() + 1100);
  EXPECT_NEAR(static_cast<double>(ExtremesOfWindows(times, 1000, 1000).too_few), 100, 2);
}

TEST(Windows, OfNoEventsNothingIsSaid) {
  EXPECT_EQ(ExtremesOfWindows({}, 100, 100).too_many, 0);
  EXPECT_EQ(ExtremesOfWindows({5}, 100, 100).too_few, 0);
}

}  // namespace
}  // namespace freshet
