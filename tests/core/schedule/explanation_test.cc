// Tests explanations of pages: the sentence agrees with the verdict, and pages that are called due
// are picked.
#include <cmath>
#include <string>

#include "tests/core/schedule/shard_cycle.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::Not;

class ExplanationTest : public ShardCycleTest {};

// The page has the highest possible staleness, but its value is below the price.
TEST_F(ExplanationTest, APageNeverCrawledCanBeBelowThePrice) {
  Apply(Upsert("dear", 1e6), 0);
  Apply(Upsert("cheap", 1), 0);
  const auto dear = Next(1);
  ASSERT_TRUE(dear);
  ASSERT_EQ(dear->key, Key("dear"));
  const Explanation cheap = Explain("cheap", 2);
  EXPECT_TRUE(std::isinf(cheap.staleness));
  EXPECT_LT(cheap.value, cheap.price);
  EXPECT_EQ(cheap.verdict, Verdict::kBelowPrice);
  EXPECT_THAT(cheap.why, Not(HasSubstr("has reached")));
  EXPECT_THAT(cheap.why, HasSubstr("does not reach"));
  EXPECT_THAT(cheap.why, HasSubstr("neither time nor a signal adds to it"));
  EXPECT_TRUE(cheap.next_crawl.infinite());
  UpsertPage often = Upsert("often", 1);
  often.max_interval = Duration::Days(4);
  Apply(often, 2);
  EXPECT_THAT(Explain("often", 2).why,
              HasSubstr("in about 4 days, when its longest time between crawls"));
  often.max_interval = Duration::Seconds(5400);
  Apply(often, 3);
  EXPECT_THAT(Explain("often", 3).why,
              HasSubstr("in about 90 min, when its longest time between crawls"));
  AddCrawled("crawled", 2);
  EXPECT_THAT(Explain("crawled", 3).why, HasSubstr("without a signal"));
}

// If both a page and its host wait, the explanation names the wait that ends last.
TEST_F(ExplanationTest, TheWaitThatEndsLastIsSaid) {
  ShardOptions options;
  options.politeness = {.min_delay = Duration::Seconds(5),
                        .max_in_flight = 1,
                        .min_page_interval = Duration::Seconds(60)};
  MemoryShard shard(options);
  const auto explain = [&](const std::string& path, double at) {
    return shard.state().Explain(*shard.Find(Key(path)), At(at));
  };
  shard.Apply(Upsert("a", 2), At(0));
  shard.Apply(Upsert("b", 1), At(0));
  const auto first = shard.Next(At(0), kLease, "w");
  ASSERT_TRUE(first);
  ASSERT_EQ(first->key, Key("a"));
  shard.Apply(Result(*first, CrawlOutcome::kUnchanged, At(1)), At(1));
  const Explanation crawled = explain("a", 2);
  EXPECT_EQ(crawled.verdict, Verdict::kTooEarly);
  EXPECT_THAT(crawled.why, HasSubstr("shortest time between two crawls of any page"));
  EXPECT_THAT(crawled.why, HasSubstr("59.000 s to go; besides, the delay between two crawls"));
  EXPECT_GE(crawled.next_crawl, At(61));
  EXPECT_EQ(explain("b", 2).verdict, Verdict::kHostBusy);
  EXPECT_THAT(explain("b", 2).why, HasSubstr("3.000 s to go"));
  EXPECT_THAT(explain("b", 2).why, Not(HasSubstr("besides")));
  // It is unknown how long the other page stays leased, so both waits are named.
  ASSERT_TRUE(shard.Next(At(5), kLease, "w"));
  EXPECT_EQ(explain("a", 6).verdict, Verdict::kHostBusy);
  EXPECT_THAT(explain("a", 6).why,
              HasSubstr("has 1 page in flight, which is its limit; besides, "));
  EXPECT_THAT(explain("a", 6).why, HasSubstr("55.000 s to go"));
}

TEST_F(ExplanationTest, LongWaitsAreSaidInUnitsThatSuitThem) {
  ShardOptions options;
  options.politeness = {.max_in_flight = 1, .min_page_interval = Duration::Seconds(5 * 86400)};
  MemoryShard shard(options);
  shard.Apply(Upsert("a", 1), At(0));
  const auto first = shard.Next(At(0), kLease, "w");
  ASSERT_TRUE(first);
  shard.Apply(Result(*first, CrawlOutcome::kUnchanged, At(0)), At(0));
  const auto why = [&](double at) {
    return shard.state().Explain(*shard.Find(Key("a")), At(at)).why;
  };
  EXPECT_THAT(why(3 * 3600), HasSubstr(": 4 d 21 h to go"));
  EXPECT_THAT(why(4 * 86400 - 30 * 60), HasSubstr(": 24 h 30 min to go"));
  EXPECT_THAT(why(5 * 86400 - 600), HasSubstr(": 10 min to go"));
  EXPECT_THAT(why(5 * 86400 - 119), HasSubstr(": 119.000 s to go"));
}

// The value of a page that was never crawled is its importance over its change rate. Signals are
// evidence of changes, but they must never lower this value.
TEST_F(ExplanationTest, ASignalLowersNoPageThatWasNeverCrawled) {
  constexpr double kDay = 86400;
  for (const PolicyKind kind :
       {PolicyKind::kGreedyNcis, PolicyKind::kGreedy, PolicyKind::kGreedyCisPlus,
        PolicyKind::kNcisApprox, PolicyKind::kNewContent}) {
    ShardOptions options;
    options.policy = CrawlPolicy(Policy{.kind = kind});
    MemoryShard shard(options);
    const auto value = [&](const std::string& path, double at) {
      return shard.state().Explain(*shard.Find(Key(path)), At(at)).value;
    };
    shard.Apply(Upsert("signalled"), At(0));
    shard.Apply(Upsert("quiet"), At(0));
    for (const double day : {0.01, 0.02, 0.5, 2.0, 2.1, 20.0, 70.0, 200.0, 201.0, 400.0}) {
      SCOPED_TRACE(fmt::format("policy {}, day {}", static_cast<int>(kind), day));
      const double at = day * kDay;
      const double before = value("signalled", at);
      ASSERT_EQ(shard.Apply(Signal("signalled"), At(at)).disposition, Disposition::kApplied);
      EXPECT_GE(value("signalled", at), before * (1 - 1e-6));
      // An epoch that learns from the signal must not lower the value either.
      shard.RunEpoch(At(at + 60));
      // The stored value might still follow an earlier model, from which the current model differs
      // by up to 2%.
      EXPECT_GE(value("signalled", at + 60), value("quiet", at + 60) * 0.98);
    }
    // Signals count from the page's first crawl on.
    EXPECT_GT(shard.Find(Key("signalled"))->state.rates.change_rate,
              shard.Find(Key("quiet"))->state.rates.change_rate);
  }
}

// The sentence agrees at any price and staleness, even if they differ only by rounding.
TEST_F(ExplanationTest, TheSentenceAgreesWithTheNumbers) {
  for (int i = 0; i < 12; ++i) {
    UpsertPage event = Upsert("p" + std::to_string(i), 1 + i % 3);
    event.known_change_rate = Rate::PerDay(0.1 * (1 + i));
    event.last_crawl = At(-1000.0 * i);
    Apply(event, 0);
  }
  int due = 0;
  int below = 0;
  for (int turn = 0; turn < 40; ++turn) {
    const double at = 10 + 500 * turn;
    for (int i = 0; i < 12; ++i) {
      const Explanation one = Explain("p" + std::to_string(i), at);
      ASSERT_TRUE(one.verdict == Verdict::kDue || one.verdict == Verdict::kBelowPrice);
      const bool is_due = one.verdict == Verdict::kDue;
      ASSERT_EQ(is_due, one.value >= one.price) << one.why;
      ASSERT_EQ(is_due, one.next_crawl <= At(at)) << one.why;
      ASSERT_EQ(is_due, one.why.find("has reached") != std::string::npos) << one.why;
      ++(is_due ? due : below);
    }
    const auto assignment = Next(at);
    ASSERT_TRUE(assignment);
    Apply(Result(*assignment, CrawlOutcome::kUnchanged, At(at)), at);
  }
  EXPECT_GT(due, 0);
  EXPECT_GT(below, 0);
}

TEST_F(ExplanationTest, TellsWhatForcesAPageAndWhatHoldsIt) {
  UpsertPage event = Upsert("a", 0);
  event.last_crawl = At(0);
  event.max_interval = Duration::Seconds(100);
  Apply(event, 0);
  EXPECT_EQ(Explain("a", 10).verdict, Verdict::kTooEarly);
  EXPECT_THAT(Explain("a", 10).why,
              HasSubstr("longest time between crawls (max_interval) has not passed: 90.000 s"));
  EXPECT_EQ(Explain("a", 100).verdict, Verdict::kForced);
  EXPECT_THAT(Explain("a", 100).why, HasSubstr("longest time between crawls has passed"));
  Apply(Upsert("never", 0), 100);
  EXPECT_EQ(Explain("never", 101).verdict, Verdict::kNever);
  EXPECT_TRUE(Explain("never", 101).next_crawl.infinite());
}

TEST_F(ExplanationTest, APlanHasTurnsInsteadOfAPrice) {
  ShardOptions options;
  options.policy = CrawlPolicy(PlanMethod::kUniform);
  MemoryShard shard(options);
  shard.set_crawl_rate(Rate::PerSecond(0.001));
  UpsertPage event = Upsert("a");
  event.last_crawl = At(0);
  shard.Apply(event, At(0));
  shard.RunEpoch(At(0));
  const Explanation later = shard.state().Explain(*shard.Find(Key("a")), At(10));
  EXPECT_EQ(later.verdict, Verdict::kBelowPrice);
  EXPECT_THAT(later.why, HasSubstr("the plan has the page crawled in about"));
  EXPECT_GT(later.next_crawl, At(10));
  const Explanation due = shard.state().Explain(*shard.Find(Key("a")), later.next_crawl);
  EXPECT_EQ(due.verdict, Verdict::kDue);
}

}  // namespace
}  // namespace freshet
