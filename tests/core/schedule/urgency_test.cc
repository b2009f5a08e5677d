// Tests the order of pages that are worth a crawl.
#include "core/schedule/urgency.h"

#include <cmath>

#include "tests/core/schedule/shard_cycle.h"

namespace freshet {
namespace {

constexpr double kUrgencyDay = 86400;

// Returns a page that is surely stale and has complete signals.
IndexEntry SurelyStale(double importance, double changes_per_day) {
  PageRates rates;
  rates.change_rate = rates.signal_rate = changes_per_day / kUrgencyDay;
  rates.signal_weight = INFINITY;
  IndexEntry entry;
  entry.rates = MakeIndexRates(importance, rates);
  entry.exponent = INFINITY;
  return entry;
}

double ValueOfStale(const IndexEntry& entry) { return CrawlValue(ValueOf(entry), entry.exponent); }

Urgency AtPrice(double price, double changes_per_day) {
  Urgency urgency;
  for (int i = 0; i < 500; ++i) urgency.Picked(price, changes_per_day / kUrgencyDay);
  return urgency;
}

// The values of mu/Delta are 100 days for kRare and 30 days for kImportant.
const IndexEntry kRare = SurelyStale(1, 0.01);
const IndexEntry kImportant = SurelyStale(3, 0.1);

TEST(Urgency, NothingIsKnownBeforeTheFirstPick) {
  EXPECT_EQ(Urgency().Share(kRare), 1);
  EXPECT_EQ(Urgency().price(), 0);
}

TEST(Urgency, WhatIsWorthThePriceAtMostKeepsItsValue) {
  const double value = ValueOfStale(kImportant);
  EXPECT_EQ(AtPrice(value * 1.2, 0.03).Share(kImportant), 1);
  EXPECT_EQ(AtPrice(value * 1.2, 0.03).Share(SurelyStale(0, 0.1)), 1);
  IndexEntry fresh = kImportant;
  fresh.exponent = 0;
  EXPECT_EQ(AtPrice(1, 0.03).Share(fresh), 1);
}

TEST(Urgency, WhereCrawlsArePlentyImportanceDecides) {
  const Urgency plenty = AtPrice(1e-3, 0.03);
  EXPECT_GT(ValueOfStale(kRare), ValueOfStale(kImportant));
  EXPECT_LT(plenty.Share(kRare) * ValueOfStale(kRare),
            plenty.Share(kImportant) * ValueOfStale(kImportant));
}

TEST(Urgency, WhereCrawlsAreScarceTheirValueDoes) {
  const Urgency scarce = AtPrice(0.97 * ValueOfStale(kImportant), 0.03);
  EXPECT_GT(scarce.Share(kRare) * ValueOfStale(kRare),
            scarce.Share(kImportant) * ValueOfStale(kImportant));
}

// The cost of waiting for a page that is surely stale: lambda + (mu - lambda Delta)/(Delta + h).
TEST(Urgency, TheFiledValueIsThatOfTheHeader) {
  const double price = ValueOfStale(kImportant) / 5;
  const Urgency urgency = AtPrice(price, 0.03);
  EXPECT_NEAR(urgency.price() / price, 1, 0.11) << "within a step";
  const double lambda = urgency.price();
  const double rate = 0.1 / kUrgencyDay;
  const double filed = lambda + (3 - lambda * rate) / (rate + 3 * 0.03 / kUrgencyDay);
  EXPECT_NEAR(urgency.Share(kImportant) * ValueOfStale(kImportant) / filed, 1, 1e-5);
}

TEST(Urgency, ThePriceFallsWithinDozensOfPicks) {
  Urgency urgency = AtPrice(100, 0.03);
  for (int i = 0; i < 40; ++i) urgency.Picked(10, 0.03 / kUrgencyDay);
  EXPECT_LT(urgency.price(), 12);
  for (int i = 0; i < 1000; ++i) urgency.Picked(0, 0);
  EXPECT_GT(urgency.price(), 0) << "not zero, which stands for none";
  EXPECT_LE(urgency.Share(kRare), 1);
  EXPECT_GT(urgency.Share(kRare), 0);
}

// Pages without value are picked only if there are no others. They lower the price to almost 0.
TEST(Urgency, ThePriceComesBackFromNothing) {
  Urgency urgency;
  for (int i = 0; i < 20'000; ++i) urgency.Picked(0, 0);
  for (int i = 0; i < 1000; ++i) urgency.Picked(100, 0.03 / kUrgencyDay);
  EXPECT_NEAR(urgency.price(), 100, 20);
}

class UrgencyTest : public ShardCycleTest, public testing::WithParamInterface<const char*> {
 protected:
  UrgencyTest() : ShardCycleTest(Options()) {}
  static ShardOptions Options() {
    ShardOptions options;
    options.policy = *ResolvePolicy(GetParam());
    return options;
  }
  void AddComplete(const std::string& path, double importance, double changes_per_day) {
    UpsertPage event = Upsert(path, importance);
    event.known_change_rate = Rate::PerDay(changes_per_day);
    event.complete_signals = true;
    event.last_crawl = At(0);
    ASSERT_EQ(Apply(event, 0).disposition, Disposition::kCreated);
  }
};

// Crawls of almost worthless pages lower the price. Then two signals come.
TEST_P(UrgencyTest, TheDefaultTakesWhatLosesMostByWaiting) {
  AddComplete("rare", 1, 0.01);
  AddComplete("important", 3, 0.1);
  AddComplete("hardly", 1e-4, 0.1);
  for (int i = 1; i <= 20; ++i) {
    Apply(Signal("hardly"), i);
    const auto pick = Next(i);
    ASSERT_TRUE(pick);
    Apply(Result(*pick, CrawlOutcome::kChanged, At(i)), i);
  }
  Apply(Signal("rare"), 30);
  Apply(Signal("important"), 30);
  const auto pick = Next(31);
  ASSERT_TRUE(pick);
  const bool is_default = std::string(GetParam()) == "default";
  EXPECT_EQ(pick->key, Key(is_default ? "important" : "rare"));
  const Explanation rare = Explain("rare", 31);
  EXPECT_NEAR(rare.value / (100 * kUrgencyDay), is_default ? 0.03 : 1, 0.03);
  EXPECT_NEAR(rare.value_share, rare.value / (100 * kUrgencyDay), 1e-6);
  // The filed urgency decides, even if the price has changed since.
  const auto next = Next(32);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->key, Key(is_default ? "rare" : "important"));
  EXPECT_NEAR(next->value / Explain(is_default ? "rare" : "important", 32).value, 1, 1e-6);
}

// The value, weighed by the price, might be almost 0 already.
TEST_P(UrgencyTest, WhatIsWorthSomethingGoesOutInTheEnd) {
  UpsertPage hardly = Upsert("hardly", 1.5e-45);
  hardly.last_crawl = At(0);
  Apply(hardly, 0);
  AddComplete("important", 3, 0.1);
  Apply(Signal("important"), 1);
  const auto first = Next(1);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->key, Key("important"));
  const double at = 20'000 * kUrgencyDay;
  shard_.RunTimers(At(at));
  EXPECT_LT(Explain("hardly", at).value_share, 1.01);
  const auto pick = Next(at);
  ASSERT_TRUE(pick);
  EXPECT_EQ(pick->key, Key("hardly"));
}

// A page that has been silent for too long counts with the probability that it still exists.
TEST_P(UrgencyTest, TheDefaultDoubtsSilentPages) {
  for (int i = 0; i < 40; ++i) {
    const std::string path = "dies" + std::to_string(i);
    UpsertPage event = Upsert(path);
    event.last_crawl = At(0);
    Apply(event, 0);
  }
  AddCrawled("silent", 0);
  double at = 30 * kUrgencyDay;
  shard_.RunTimers(At(at));
  for (int i = 0; i < 40; ++i) {
    ReportCrawl report{.key = Key("dies" + std::to_string(i)), .fetched = At(at)};
    report.outcome = CrawlOutcome::kGone;
    ASSERT_TRUE(Apply(report, at).status.ok());
  }
  shard_.RunEpoch(At(at));
  at = 400 * kUrgencyDay;
  shard_.RunTimers(At(at));
  shard_.RunEpoch(At(at));
  const double share = Explain("silent", at).value_share;
  if (std::string(GetParam()) == "default") {
    EXPECT_LT(share, 0.05);
    EXPECT_GT(share, 0);
  } else {
    EXPECT_EQ(share, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, UrgencyTest, testing::Values("default", "greedy_ncis"));

}  // namespace
}  // namespace freshet
