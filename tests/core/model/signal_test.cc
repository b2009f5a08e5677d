// Tests that counts of signals in bounded space distinguish sources.
#include "core/model/signal.h"

#include <map>

#include "gtest/gtest.h"

namespace freshet {
namespace {

std::map<int, int> BySource(const SignalCounts& counts) {
  std::map<int, int> sums;
  for (const SignalCounts::Entry& entry : counts.entries()) {
    if (entry.count > 0) sums[entry.source_class.source()] += entry.count;
  }
  return sums;
}

TEST(SignalCountsTest, CountsEachClassOfItsOwnWhileThereIsRoom) {
  SignalCounts counts;
  for (int i = 0; i < 3; ++i) counts.Add({1, BurstClass::kFew});
  counts.Add({1, BurstClass::kMass});
  EXPECT_EQ(counts.entries()[0], (SignalCounts::Entry{{1, BurstClass::kFew}, 3}));
  EXPECT_EQ(counts.entries()[1], (SignalCounts::Entry{{1, BurstClass::kMass}, 1}));
  EXPECT_EQ(counts.Total(), 4);
}

// Regression: a seventh class counted as the sixth, whatever its source. Its source then seemed to
// have never signalled, and a repeated lastmod counted as a new signal.
TEST(SignalCountsTest, TellsSixSourcesApartWhateverTheirBursts) {
  SignalCounts counts;
  std::map<int, int> expected;
  for (int source = 5; source >= 0; --source) {
    for (int burst = 0; burst < limits::kBurstClasses; ++burst) {
      const auto burst_class = static_cast<BurstClass>(burst);
      for (int i = 0; i <= source; ++i, ++expected[source]) {
        counts.Add({static_cast<uint8_t>(source), burst_class});
      }
      EXPECT_EQ(BySource(counts), expected) << source << " " << burst;
    }
  }
}

TEST(SignalCountsTest, ASeventhSourceKeepsTheTotal) {
  SignalCounts counts;
  for (uint8_t source = 0; source < 9; ++source) counts.Add({source, BurstClass::kFew});
  EXPECT_EQ(counts.Total(), 9);
}

TEST(SignalCountsTest, OfTwoPairsThatBecomeOneTheGreaterNamesIt) {
  SignalCounts counts;
  counts.Add({0, BurstClass::kFew});
  for (int i = 0; i < 2; ++i) counts.Add({0, BurstClass::kMany});
  for (uint8_t source = 1; source < 6; ++source) counts.Add({source, BurstClass::kFew});
  EXPECT_EQ(counts.entries()[0], (SignalCounts::Entry{{0, BurstClass::kMany}, 3}));
}

TEST(SignalCountsTest, TakesBackWhatWasCountedElsewhere) {
  SignalCounts counts;
  for (int burst = 0; burst < limits::kBurstClasses; ++burst) {
    for (uint8_t source = 0; source < 3; ++source) {
      counts.Add({source, static_cast<BurstClass>(burst)});
    }
  }
  for (int burst = 0; burst < limits::kBurstClasses; ++burst) {
    counts.Subtract({1, static_cast<BurstClass>(burst)});
  }
  EXPECT_EQ(BySource(counts), (std::map<int, int>{{0, 4}, {2, 4}}));
  counts.Subtract({1, BurstClass::kFew});
  EXPECT_EQ(counts.Total(), 8);
  for (int i = 0; i < 4; ++i) counts.Subtract({0, BurstClass::kFew});
  for (int i = 0; i < 4; ++i) counts.Subtract({2, BurstClass::kMass});
  EXPECT_TRUE(counts.empty());
  EXPECT_EQ(counts, SignalCounts());
}

TEST(SignalCountsTest, StaysAtTwoHundredAndFiftyFive) {
  SignalCounts counts;
  for (int i = 0; i < 300; ++i) counts.Add({0, BurstClass::kFew});
  EXPECT_EQ(counts.Total(), 255);
}

}  // namespace
}  // namespace freshet
