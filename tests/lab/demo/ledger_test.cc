#include "lab/demo/ledger.h"

#include <gtest/gtest.h>

#include "lab/demo/rule_schedule.h"
#include "lab/demo/truth.h"
#include "tests/lab/demo/small_history.h"

namespace freshet::demo {
namespace {

constexpr uint32_t kA = 0;
constexpr uint32_t kB = 1;
constexpr uint32_t kC = 2;

class LedgerTest : public ::testing::Test {
 protected:
  const ReplayedHistory replayed_{ThreePages(), TenDays()};
  const LastCrawls all_crawled_ = {kWallBegin, kWallBegin, std::nullopt};
};

TEST_F(LedgerTest, ReplayedHistoryHoldsWhatHappensDuringTheReplay) {
  ASSERT_EQ(replayed_.pages().size(), 3U);
  EXPECT_EQ(replayed_.Find("https://x.example/c"), kC);
  EXPECT_EQ(replayed_.Find("https://x.example/later"), std::nullopt);
  EXPECT_EQ(replayed_.pages()[kA].born_micros, kWallBegin);
  EXPECT_EQ(replayed_.pages()[kC].born_micros, WallDay(4));
  EXPECT_EQ(replayed_.events().size(), 5U);
  EXPECT_TRUE(replayed_.ChangedWithin(kA, WallDay(1.9), WallDay(2)));
  EXPECT_FALSE(replayed_.ChangedWithin(kA, WallDay(2), WallDay(5.9)));
  EXPECT_FALSE(replayed_.ChangedWithin(kA, WallDay(6.1), WallDay(10)))
      << "a minor touch is no change";
}

TEST_F(LedgerTest, ReplayedHistoryFindsOtherSpellingsOfAUrl) {
  const std::vector<std::string> urls = {"https://X.example/%",       "https://x.example/[[",
                                         "https://x.example/C%2b%2B", "https://x.example/100%25",
                                         "https://x.example/a/./..",  "https://x.example/b/."};
  std::vector<HistoryPage> pages;
  for (const std::string& url : urls) {
    pages.push_back({.url = url, .first_seen_seconds = HistoryDay(0)});
  }
  const ReplayedHistory replayed(pages, TenDays());
  for (uint32_t page = 0; page < urls.size(); ++page) EXPECT_EQ(replayed.Find(urls[page]), page);
  EXPECT_EQ(replayed.Find("https://x.example/%25"), 0U);
  EXPECT_EQ(replayed.Find("https://x.example/%5B%5B"), 1U);
  EXPECT_EQ(replayed.Find("https://x.example/C++"), 2U);
  EXPECT_EQ(replayed.Find("https://x.example/c++"), std::nullopt);
  EXPECT_EQ(replayed.Find("https://x.example/100%"), 3U);
  EXPECT_EQ(replayed.Find("https://x.example/"), 4U);
  EXPECT_EQ(replayed.Find("https://x.example/b/"), 5U);
  EXPECT_EQ(replayed.Find("https://x.example/%5"), std::nullopt);
}

TEST_F(LedgerTest, AgreesWithACalculationByHand) {
  Ledger ledger(replayed_, all_crawled_, kWallBegin);
  EXPECT_EQ(ledger.pages(), 2U);
  ledger.AdvanceTo(WallDay(3));  // a has been stale since day 2
  EXPECT_DOUBLE_EQ(ledger.Current().plain, 0.5);
  EXPECT_DOUBLE_EQ(ledger.Current().weighted, 0.25);
  ledger.Fetch(kA, WallDay(3));
  EXPECT_DOUBLE_EQ(ledger.Current().plain, 1);
  ledger.Fetch(kC, WallDay(4.5));  // new on day 4, never crawled before
  ledger.AdvanceTo(WallDay(10));   // c has been stale since day 5, a since day 6
  EXPECT_EQ(ledger.pages(), 3U);
  EXPECT_DOUBLE_EQ(ledger.Current().plain, 1.0 / 3);
  EXPECT_DOUBLE_EQ(ledger.Current().weighted, 1.0 / 8);
  const Freshness mean = ledger.sum().Mean();
  EXPECT_NEAR(mean.plain, (2 + 0.5 + 1 + 0.5 * 2 / 3 + 0.5 + 2.0 / 3 + 4.0 / 3) / 10, 1e-12);
  EXPECT_NEAR(mean.weighted, (2 + 0.25 + 1 + 0.5 * 4 / 8 + 0.5 + 4.0 / 8 + 4 * 1.0 / 8) / 10,
              1e-12);
}

TEST_F(LedgerTest, StartsInTheMiddleFromWhatWasCrawled) {
  // Page a was last crawled before its change on day 6, and page c after its change on day 5.
  const Ledger ledger(replayed_, {WallDay(5.9), std::nullopt, WallDay(5.1)}, WallDay(7));
  EXPECT_EQ(ledger.pages(), 3U);
  EXPECT_DOUBLE_EQ(ledger.Current().plain, 1.0 / 3);
  EXPECT_DOUBLE_EQ(ledger.Current().weighted, 4.0 / 8);
}

TEST_F(LedgerTest, TimeNeverStepsBack) {
  Ledger ledger(replayed_, all_crawled_, kWallBegin);
  ledger.AdvanceTo(WallDay(3));
  ledger.Fetch(kA, WallDay(1));
  EXPECT_EQ(ledger.now_micros(), WallDay(3));
  EXPECT_EQ(ledger.last_crawls()[kA], WallDay(3));
  EXPECT_DOUBLE_EQ(ledger.Current().plain, 1);
}

TEST_F(LedgerTest, SumsGiveTheMeanOfAnyPeriod) {
  Ledger ledger(replayed_, all_crawled_, kWallBegin);
  ledger.AdvanceTo(WallDay(1));
  const FreshnessSum earlier = ledger.sum();
  ledger.AdvanceTo(WallDay(3));
  EXPECT_NEAR((ledger.sum() - earlier).Mean().plain, 0.75, 1e-12);
  EXPECT_DOUBLE_EQ((earlier - earlier).Mean().plain, 1);
}

TEST_F(LedgerTest, TruthTellsChangedFromUnchanged) {
  int64_t now = WallDay(1);
  Truth truth(replayed_, all_crawled_, kWallBegin, [&now] { return now; });
  EXPECT_FALSE(truth.Fetch(kA, kWallBegin)->changed);
  now = WallDay(2.5);
  const std::optional<Fetched> second = truth.Fetch(kA, WallDay(1));
  EXPECT_TRUE(second->changed);
  EXPECT_EQ(second->time_micros, now);
  EXPECT_FALSE(truth.Fetch(kA, second->time_micros)->changed);
  EXPECT_TRUE(truth.Fetch(kC, std::nullopt)->changed) << "the first crawl finds a page changed";
  now = WallDay(11);
  EXPECT_EQ(truth.Fetch(kA, WallDay(2.5)), std::nullopt) << "the history is over";
  std::vector<int64_t> fetched_at;
  const TruthSnapshot snapshot = truth.Look(&fetched_at);
  EXPECT_EQ(fetched_at,
            (std::vector<int64_t>{WallDay(1), WallDay(2.5), WallDay(2.5), WallDay(2.5)}));
  (void)truth.Look(&fetched_at);
  EXPECT_TRUE(fetched_at.empty()) << "each is told once";
  EXPECT_EQ(snapshot.time_micros, WallDay(10));
  EXPECT_EQ(snapshot.crawls, 4U);
  EXPECT_EQ(snapshot.changed, 2U);
  EXPECT_EQ(snapshot.pages, 3U);
}

std::vector<int64_t> WallDays(const std::vector<double>& days) {
  std::vector<int64_t> times;
  for (const double day : days) times.push_back(WallDay(day));
  return times;
}

// Returns the polls of all days, each acknowledged `days_later` days after it was made.
std::vector<KnownPoll> DailyPolls(double days_later = 0) {
  std::vector<KnownPoll> polls;
  for (int day = 1; day <= 10; ++day) polls.push_back({WallDay(day), WallDay(day + days_later)});
  return polls;
}

TEST_F(LedgerTest, UniformCrawlsInTurnAndNewPagesFirst) {
  RuleSchedule uniform("uniform", replayed_, {WallDay(-1), WallDay(-2), std::nullopt}, kWallBegin);
  uniform.Know(DailyPolls());
  // Crawls b, which has waited longest; then a; then c, which the poll of day 4 found; then b
  // again.
  uniform.AdvanceTo(WallDay(6), WallDays({1.5, 3, 4.5, 6}), 0);
  uniform.AdvanceTo(WallDay(9), WallDays({7.5, 9}), 0);
  uniform.AdvanceTo(WallDay(9.5), {}, 0);
  const LastCrawls& crawls = uniform.ledger().last_crawls();
  EXPECT_EQ(crawls[kB], WallDay(6));
  EXPECT_EQ(crawls[kA], WallDay(7.5));
  EXPECT_EQ(crawls[kC], WallDay(9));
  EXPECT_DOUBLE_EQ(uniform.ledger().Current().plain, 1);
}

TEST_F(LedgerTest, PingsFirstCrawlsWhatPollsAnnounceByImportance) {
  RuleSchedule pings("pings_first", replayed_, {WallDay(-1), WallDay(-2), std::nullopt},
                     kWallBegin);
  pings.Know(DailyPolls());
  // Crawls b and a, which have no signals yet; a after the poll of day 2; b in turn; and c, which
  // is new on day 4.
  pings.AdvanceTo(WallDay(4.2), WallDays({0.5, 1.5, 2.5, 3, 4.1}), 0);
  EXPECT_EQ(pings.ledger().last_crawls(), (LastCrawls{WallDay(2.5), WallDay(3), WallDay(4.1)}));
  // Page c changed on day 5 and page a on day 6. Page c is crawled first, because it is more
  // important.
  pings.AdvanceTo(WallDay(6.4), WallDays({6.3}), 0);
  EXPECT_EQ(pings.ledger().last_crawls()[kC], WallDay(6.3));
  pings.AdvanceTo(WallDay(7.4), WallDays({6.45, 7.3}), 0);
  EXPECT_EQ(pings.ledger().last_crawls()[kA], WallDay(7.3)) << "touched again, after its crawl";
  EXPECT_DOUBLE_EQ(pings.ledger().Current().plain, 1);
}

TEST_F(LedgerTest, ARuleKnowsWhatTheServerKnewWhenItChose) {
  // Page a changed on day 2. The crawl of day 2.5 was chosen before the server knew the poll of day
  // 2, either because the acknowledgement came late or because the server chooses ahead.
  const LastCrawls crawls = {WallDay(-1), WallDay(-2), std::nullopt};
  RuleSchedule late("pings_first", replayed_, crawls, kWallBegin);
  late.Know(DailyPolls(0.6));
  late.AdvanceTo(WallDay(2.7), WallDays({2.5, 2.65}), 0);
  EXPECT_EQ(late.ledger().last_crawls(), (LastCrawls{WallDay(2.65), WallDay(2.5), std::nullopt}));

  RuleSchedule ahead("pings_first", replayed_, crawls, kWallBegin);
  ahead.Know(DailyPolls());
  ahead.AdvanceTo(WallDay(2.7), WallDays({2.5, 2.65}), static_cast<int64_t>(0.6 * kWallDay));
  EXPECT_EQ(ahead.ledger().last_crawls(), (LastCrawls{WallDay(2.65), WallDay(2.5), std::nullopt}));
}

TEST_F(LedgerTest, ARuleThatStartsLateSkipsThePollsBefore) {
  RuleSchedule pings("pings_first", replayed_, {WallDay(5.4), WallDay(5.3), WallDay(5.2)},
                     WallDay(5.5));
  pings.Know(DailyPolls());
  pings.AdvanceTo(WallDay(7), WallDays({6.2}), 0);
  EXPECT_EQ(pings.ledger().last_crawls()[kA], WallDay(6.2)) << "changed on day 6";
}

TEST_F(LedgerTest, UniformWithoutAnyCrawlOnlyLooksOn) {
  RuleSchedule uniform("uniform", replayed_, all_crawled_, kWallBegin);
  uniform.AdvanceTo(WallDay(3), {}, 0);
  EXPECT_DOUBLE_EQ(uniform.ledger().Current().weighted, 0.25);
}

}  // namespace
}  // namespace freshet::demo
