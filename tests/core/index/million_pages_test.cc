// Tests the price index at its intended size: picks among a million pages are compared with a full
// scan.
#include <string>

#include "core/base/random.h"
#include "core/index/price_index.h"
#include "core/model/policy.h"
#include "gtest/gtest.h"
#include "lab/common/brute_index.h"

namespace freshet {
namespace {

constexpr uint32_t kMillion = 1'000'000;
constexpr int kChecked = 100;  // picks, for each of two policies
constexpr int kBetween = 100;  // picks between two checked ones

// Makes a random page. In a world of these pages, a crawl rate of 1/1000 per page and second is
// neither scarce nor ample.
IndexEntry MakeEntry(const Policy& policy, Random& random, Instant now) {
  PaperRates paper;
  paper.importance = random.Uniform(0.01, 1);
  paper.change_rate = random.Uniform(0.01, 1) * 1e-3;
  paper.recall = random.Beta(0.25, 0.25);
  paper.false_signal_rate = random.Uniform(0.1, 0.6) * 1e-3;
  IndexEntry entry;
  entry.policy = policy;
  entry.rates = MakeIndexRates(paper.importance, RatesFromPaper(paper));
  entry.exponent = 2 * random.Uniform();
  entry.since = now;
  return entry;
}

class MillionPagesTest : public ::testing::TestWithParam<const char*> {};

TEST_P(MillionPagesTest, PicksWhatAFullScanPicks) {
  const Policy policy = *ParsePolicy(GetParam());
  Random random(17);
  Instant now = Instant::FromUnixSeconds(1'000'000'000);
  PriceIndex index;
  BruteIndex scan;
  for (uint32_t i = 0; i < kMillion; ++i) {
    const IndexEntry entry = MakeEntry(policy, random, now);
    index.Put(PageId(i), entry);
    scan.Put(PageId(i), entry);
  }
  const auto restart = [&](PageId page, double exponent) {
    index.Restart(page, exponent, now);
    scan.Restart(page, exponent, now);
  };
  for (int i = 1; i <= kChecked * kBetween; ++i) {
    now = now + Duration::Millis(1);
    const PageId signalled(static_cast<uint32_t>(random.Below(kMillion)));
    restart(signalled, scan.ExponentOf(signalled, now) + 0.5);
    const auto best = index.Best(now);
    ASSERT_TRUE(best);
    if (i % kBetween == 0) {
      const auto expected = scan.Best(now);
      ASSERT_TRUE(expected);
      // If the pages differ, they must have the same value up to rounding.
      if (best->page != expected->page) {
        ASSERT_NEAR(scan.ValueOf(best->page, now), expected->value, 1e-12 * expected->value);
      }
    }
    restart(best->page, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, MillionPagesTest, ::testing::Values("greedy", "greedy_ncis"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace freshet
