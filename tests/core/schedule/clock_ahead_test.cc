// Tests a start with a clock that is behind the stored times.
#include "core/schedule/clock_ahead.h"

#include <memory>
#include <vector>

#include "core/base/url.h"
#include "core/schedule/learning.h"
#include "core/schedule/page_to_load.h"
#include "core/schedule/pick.h"
#include "core/schedule/shard_loading.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/schedule/shard_cycle.h"

namespace freshet {
namespace {

constexpr Duration kAhead = Duration::Hours(1);

TEST(ClockAhead, WhatIsNotLaterThanNowStaysAsItIs) {
  PageRecord page;
  page.state.first_seen = page.state.last_crawl = page.state.carried_at = At(10);
  page.state.retry_at = At(1000);
  const PageRecord before = page;
  EXPECT_EQ(CapAtNow(At(10), &page), Duration());
  EXPECT_EQ(page, before);
  EXPECT_EQ(AheadOf(At(10), page.state), Duration());
  EXPECT_EQ(AheadOf(At(9.5), page.state), Duration()) << "no more than clocks differ";
  EXPECT_EQ(AheadOf(At(8), page.state), Duration::Seconds(2));
}

TEST(ClockAhead, AWaitThatBeganAheadBeginsAnew) {
  PageRecord page;
  page.state.first_seen = At(10);
  page.state.last_crawl = At(20);
  page.state.carried_at = At(3700);
  page.state.retry_at = At(3760);
  page.detail.claims = {{.source = 1, .newest = At(3650)}};
  page.detail.statistics.recent = {{.fetched = At(20)}, {.fetched = At(3700)}};
  EXPECT_EQ(CapAtNow(At(100), &page), Duration::Seconds(3600));
  EXPECT_EQ(page.state.retry_at, At(160));
  EXPECT_EQ(page.state.carried_at, At(100));
  EXPECT_EQ(page.state.last_crawl, At(20));
  EXPECT_EQ(page.detail.claims[0].newest, At(100));
  EXPECT_EQ(page.detail.statistics.recent.size(), 1u);
  page.state.carried_at = At(300);
  page.state.retry_at = Instant::Infinite();
  EXPECT_EQ(CapAtNow(At(200), &page), Duration::Seconds(100));
  EXPECT_TRUE(page.state.retry_at.infinite()) << "never is never";
}

TEST(ClockAhead, LeasesAndHostsAreAsLongOutAsTheyWere) {
  LeaseRecord lease;
  lease.assigned = At(3600);
  lease.deadline = At(3660);
  lease.signals = {{At(3610), SourceClass()}, {At(5), SourceClass()}};
  EXPECT_EQ(CapAtNow(At(10), &lease), Duration::Seconds(3590));
  EXPECT_EQ(lease.assigned, At(10));
  EXPECT_EQ(lease.deadline, At(70));
  EXPECT_EQ(lease.signals[0].time, At(10));
  EXPECT_EQ(lease.signals[1].time, At(5));

  // Just before the start, a page can be handed out at an earlier tick than planned. Its lease is
  // then dated a moment ahead, and stays as it is.
  LeaseRecord handed_out;
  handed_out.assigned = At(11);
  handed_out.deadline = At(71);
  EXPECT_EQ(CapAtNow(At(10), &handed_out), Duration());
  EXPECT_EQ(handed_out.assigned, At(11));
  EXPECT_EQ(handed_out.deadline, At(71)) << "its worker was told so";

  HostRecord host;
  host.last_assignment = At(3600);
  host.last_throttled = At(3605);
  host.blocked_until = At(3635);
  host.recent_crawls = {{.last = At(3600), .count = 3}};
  EXPECT_EQ(CapAtNow(At(10), &host), Duration::Seconds(3595));
  EXPECT_EQ(host.last_assignment, At(10));
  EXPECT_EQ(host.blocked_until, At(40));
  EXPECT_EQ(host.recent_crawls[0].last, At(10));
  HostRecord blocked;
  blocked.blocked_until = At(9000);
  EXPECT_EQ(CapAtNow(At(10), &blocked), Duration());
  EXPECT_EQ(blocked.blocked_until, At(9000)) << "somebody may have meant it so";
}

// Pages were crawled, failed, returned and signalled an hour ahead of the right time. Then the
// shard is loaded with the right time.
class ClockAheadTest : public ShardCycleTest {
 protected:
  // Loads a new shard from the stored records, at `now`.
  void StartAt(Instant now) {
    started_ = std::make_unique<ShardState>(ShardOptions{});
    const HostId host = started_->loading().LoadHost({.host = "example.com"});
    std::vector<PageToLoad> batch;
    for (const auto& [number, page] : shard_.pages()) {
      PageState state = page.state;
      const bool ahead = AheadOf(now, state) > Duration();
      if (ahead) CapAtNow(now, &state);
      batch.push_back(
          started_->loading().PrepareLoad(number, number.value(), host, page.spec, state));
      batch.back().ahead = ahead;
    }
    ASSERT_TRUE(started_->loading().LoadPages(batch, now).ok());
    (void)started_->loading().FinishLoad();
  }

  std::unique_ptr<ShardState> started_;
};

TEST_F(ClockAheadTest, EveryPageGoesOutAgainWithinSecondsOfItsTime) {
  const double ahead = kAhead.seconds();
  for (const char* path : {"changed", "failed", "expired", "returned"}) {
    UpsertPage page = Upsert(path);
    page.min_interval = Duration::Seconds(30);
    Apply(page, 0);
  }
  int returned = 0;
  for (double at = ahead; returned < 6; at += 5) {
    const auto assignment = Next(at);
    if (!assignment) continue;
    if (assignment->key == Key("changed")) {
      Apply(Result(*assignment, CrawlOutcome::kChanged, At(at)), at);
    } else if (assignment->key == Key("failed")) {
      Apply(Result(*assignment, CrawlOutcome::kError, At(at)), at);
    } else if (assignment->key == Key("expired")) {
      Apply(ExpireLease{assignment->lease}, at);
    } else {
      Apply(ReturnLease{assignment->lease}, at);
      ++returned;
    }
  }
  StartAt(At(100));
  int out = 0;
  for (double at = 101; at < 300; at += 1) {
    while (started_->Take(At(at))) ++out;
  }
  EXPECT_EQ(out, 4) << "none waits for the hour to come again";
}

TEST_F(ClockAheadTest, SignalsAreTakenAndTheRecordIsMended) {
  const double ahead = kAhead.seconds();
  AddCrawled("a", 0);
  Apply(RecheckPage{Key("a")}, ahead);
  Apply(Result(*Next(ahead), CrawlOutcome::kChanged, At(ahead)), ahead);
  StartAt(At(100));
  PageRecord page = Page("a");
  EXPECT_TRUE(started_->CapTimes(At(101), &page));
  EXPECT_EQ(page.state.last_crawl, At(100)) << "of the start, so that what comes now is newer";
  EXPECT_FALSE(started_->CapTimes(At(101), &page));

  std::vector<Event> timers;
  EXPECT_EQ(started_->next_timer(), Instant());
  started_->TakeDueTimers(At(101), 10, &timers);
  ASSERT_EQ(timers.size(), 1u);
  PageRecord stored = Page("a");
  Transaction txn;
  txn.Load(page, started_->CapTimes(At(101), &stored));
  (void)started_->Step(timers[0], At(101), txn);
  SignalChange signal = Signal("a");
  EXPECT_EQ(started_->Step(signal, At(101), txn).disposition, Disposition::kApplied);
  const Changes changes = txn.Finish(started_->learning().estimator());
  ASSERT_EQ(changes.pages.size(), 1u) << "it is written";
  EXPECT_LE(changes.pages[0].record->state.last_crawl, At(101));
  started_->Install(txn);
  timers.clear();
  started_->TakeDueTimers(At(102), 10, &timers);
  EXPECT_THAT(timers, testing::IsEmpty()) << "once";
}

}  // namespace
}  // namespace freshet
