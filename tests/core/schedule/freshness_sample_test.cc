#include "core/schedule/freshness_sample.h"

#include <cmath>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr Instant kNow = Instant::FromUnixSeconds(1'700'000'000);

TEST(FreshnessSample, IsExactForFewPages) {
  FreshnessSample sample;
  sample.Put(PageId(1), 1, {.importance = 2, .staleness = 0, .since = kNow, .rate = 0.1});
  sample.Put(PageId(2), 2, {.importance = 1, .staleness = 1, .since = kNow, .rate = 0});
  sample.Put(PageId(3), 3, {.importance = 9, .staleness = INFINITY, .since = kNow, .rate = 1});
  sample.Put(PageId(4), 4, {.importance = 5, .staleness = 0, .since = kNow, .rate = 0});
  sample.Remove(PageId(4));
  const BelievedFreshness sum = sample.Sum(kNow + Duration::Seconds(10), 3);
  EXPECT_EQ(sum.pages, 3u);
  EXPECT_DOUBLE_EQ(sum.importance, 12);
  EXPECT_DOUBLE_EQ(sum.fresh_pages, 2 * std::exp(-1));
  EXPECT_DOUBLE_EQ(sum.fresh_importance, 3 * std::exp(-1));
  EXPECT_EQ(sum.pages_share_error, 0);
}

TEST(FreshnessSample, ErrsByAsMuchAsItSaysForMany) {
  Random random(5);
  FreshnessSample sample;
  constexpr uint64_t kPages = 200'000;
  double importance = 0;
  double fresh_importance = 0;
  double fresh_pages = 0;
  for (uint64_t i = 0; i < kPages; ++i) {
    const double weight = std::exp(random.Uniform(-2, 2));
    const double staleness = random.Uniform(0, 3);
    sample.Put(PageId(static_cast<uint32_t>(i)), random.Next(),
               {.importance = weight, .staleness = staleness, .since = kNow});
    importance += weight;
    fresh_importance += weight * std::exp(-staleness);
    fresh_pages += std::exp(-staleness);
  }
  const BelievedFreshness sum = sample.Sum(kNow, kPages);
  EXPECT_GT(sum.pages_share_error, 0);
  EXPECT_LT(sum.pages_share_error, 0.006);
  EXPECT_LT(sum.importance_share_error, 0.01);
  EXPECT_NEAR(sum.fresh_pages / kPages, fresh_pages / kPages, 4 * sum.pages_share_error);
  EXPECT_NEAR(sum.fresh_importance / sum.importance, fresh_importance / importance,
              4 * sum.importance_share_error);
  EXPECT_NEAR(sum.importance / importance, 1, 0.05);
}

// Hashing does not produce equal fingerprints like these, but a manipulated store can have them.
TEST(FreshnessSample, KeepsPagesOfOneFingerprintApart) {
  FreshnessSample sample;
  for (uint32_t i = 0; i < 20'000; ++i) sample.Put(PageId(i), 0, {.importance = 1, .since = kNow});
  EXPECT_DOUBLE_EQ(sample.Sum(kNow, 20'000).importance, 20'000);
  for (uint32_t i = 1; i < 20'000; ++i) sample.Remove(PageId(i));
  EXPECT_DOUBLE_EQ(sample.Sum(kNow, 1).importance, 1);
}

}  // namespace
}  // namespace freshet
