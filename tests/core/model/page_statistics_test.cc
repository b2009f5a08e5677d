#include "core/model/page_statistics.h"

#include <cmath>
#include <limits>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(CoarseSpan, KeepsElevenBitsRoundedDown) {
  for (const int64_t exact : {0, 1, 1000, 2047, 2048, 2050, 4 * 2047}) {
    EXPECT_EQ(CoarseSpan(Duration::Micros(exact)).micros(), exact);
  }
  EXPECT_EQ(CoarseSpan(Duration::Micros(2049)).micros(), 2048);
  EXPECT_EQ(CoarseSpan(Duration::Micros(4 * 2047 + 3)).micros(), 4 * 2047);
  Random random(1);
  for (int i = 0; i < 10'000; ++i) {
    const auto span =
        Duration::Micros(static_cast<int64_t>(random.Below(uint64_t{1} << 62)) >> random.Below(62));
    const Duration coarse = CoarseSpan(span);
    EXPECT_LE(coarse, span);
    EXPECT_LE((span - coarse).seconds(), span.seconds() / 1024);
    EXPECT_EQ(CoarseSpan(coarse), coarse);
  }
}

TEST(CoarseExposure, IsWithinFourInAThousand) {
  Random random(2);
  for (int i = 0; i < 10'000; ++i) {
    const double exposure = std::exp2(random.Uniform() * 80 - 20);
    const float coarse = CoarseExposure(exposure);
    EXPECT_NEAR(coarse / exposure, 1, 1.0 / 256);
    EXPECT_EQ(CoarseExposure(coarse), coarse);
  }
  EXPECT_EQ(CoarseExposure(0), 0);
  EXPECT_TRUE(std::isfinite(CoarseExposure(std::numeric_limits<float>::max())));
}

// However often the window moves, each time is exact within a thousandth of its interval.
TEST(Coarse, ErrorsDoNotAddUp) {
  Random random(3);
  PageStatistics statistics;
  Instant fetched = Instant::FromUnixSeconds(1'600'000'000);
  for (int i = 0; i < 5'000; ++i) {
    const Duration elapsed =
        Duration::Micros(static_cast<int64_t>((1ULL << 40) + random.Below(3ULL << 40)));
    fetched = fetched + elapsed;
    const CrawlObservation kept =
        Coarse({.fetched = fetched, .elapsed = elapsed, .signals = {}}, statistics);
    if (!statistics.recent.empty()) {
      const CrawlObservation& last = statistics.recent.back();
      EXPECT_GT(kept.fetched, last.fetched);
      EXPECT_EQ(kept.elapsed, kept.fetched - last.fetched) << i;
    }
    EXPECT_LE(kept.fetched, fetched);
    EXPECT_LE((fetched - kept.fetched).seconds(), elapsed.seconds() / 500);
    EXPECT_TRUE(MayBeFetch(kept, fetched));
    EXPECT_FALSE(MayBeFetch(kept, fetched + Duration::Micros(1 + elapsed.micros() / 100)));
    EXPECT_FALSE(MayBeFetch(kept, kept.fetched - Duration::Micros(1)));
    statistics.recent.push_back(kept);
    if (statistics.recent.size() > 24) statistics.recent.erase(statistics.recent.begin());
  }
}

TEST(Coarse, AnIntervalThatBeganElsewhereKeepsItsLength) {
  PageStatistics statistics;
  const Instant start = Instant::FromUnixSeconds(1'600'000'000);
  statistics.recent.push_back(
      Coarse({.fetched = start, .elapsed = Duration::Days(1), .signals = {}}, statistics));
  EXPECT_EQ(statistics.recent[0].fetched, start);
  const CrawlObservation kept = Coarse({.fetched = start + Duration::Days(10),
                                        .elapsed = Duration::Days(3),
                                        .signals = {},
                                        .exposure = 1.2345e5F},
                                       statistics);
  EXPECT_EQ(kept.elapsed, CoarseSpan(Duration::Days(3)));
  EXPECT_EQ(kept.exposure, CoarseExposure(1.2345e5));
}

}  // namespace
}  // namespace freshet
