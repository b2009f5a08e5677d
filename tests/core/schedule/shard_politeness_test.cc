// Tests waits of hosts and pages through the cycle of a server, in virtual time.
#include <map>
#include <string>
#include <vector>

#include "core/schedule/explanation.h"
#include "core/schedule/host_book.h"
#include "core/schedule/page_to_load.h"
#include "core/schedule/pick.h"
#include "core/schedule/shard_loading.h"
#include "core/schedule/shard_state.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lab/common/memory_shard.h"
#include "tests/core/schedule/instants.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

constexpr Duration kLongLease = Duration::Seconds(600);

class ShardPolitenessTest : public testing::Test {
 protected:
  // The options of a server without configuration.
  static ShardOptions Options() {
    ShardOptions options;
    options.politeness = {.min_delay = Duration::Seconds(1),
                          .max_in_flight = 1,
                          .min_page_interval = Duration::Seconds(60)};
    options.host_backoff.first = Duration::Seconds(30);
    return options;
  }

  static PageKey Key(const std::string& url) { return {"DEFAULT", "https://" + url}; }
  static std::string HostOf(const std::string& url) { return url.substr(0, url.find('/')); }

  void Add(const std::string& url, Duration min_interval = {}) {
    UpsertPage event{.key = Key(url), .host = HostOf(url)};
    event.min_interval = min_interval;
    ASSERT_TRUE(Apply(event, 0).status.ok());
  }
  Reply Apply(const Event& event, double at) { return shard_.Apply(event, At(at)); }
  std::optional<Assignment> Next(double at) { return shard_.Next(At(at), kLongLease, "w"); }
  // Reports the result of an assignment at `at`. If there is no outcome, the server decides.
  Reply Report(const Assignment& assignment, double at, std::optional<CrawlOutcome> outcome,
               uint16_t http_status = 0, Duration retry_after = {}) {
    ReportCrawl report{.lease = assignment.lease, .fetched = At(at)};
    report.outcome = outcome;
    report.http_status = http_status;
    report.retry_after = retry_after;
    return Apply(report, at);
  }
  // Leases the next page and reports `outcome` in the same instant.
  void Crawl(double at, std::optional<CrawlOutcome> outcome = CrawlOutcome::kUnchanged,
             uint16_t http_status = 0, Duration retry_after = {}) {
    const auto assignment = Next(at);
    ASSERT_TRUE(assignment) << at;
    ASSERT_TRUE(Report(*assignment, at, outcome, http_status, retry_after).status.ok());
  }
  HostRecord Host(const std::string& host) {
    uint32_t in_flight = 0;
    return *shard_.state().hosts().Find(host, &in_flight);
  }
  std::string Why(const std::string& url, double at) {
    return shard_.state().Explain(*shard_.Find(Key(url)), At(at)).why;
  }

  MemoryShard shard_{Options()};
};

TEST_F(ShardPolitenessTest, AHostIsFetchedOnceASecondAndAPageOnceAMinute) {
  Add("a.example/1");
  Add("a.example/2");
  std::map<std::string, std::vector<double>> fetches;
  std::vector<double> all;
  for (double at = 1; at < 400; at += 0.05) {
    const auto assignment = Next(at);
    if (!assignment) continue;
    EXPECT_FALSE(Next(at + 0.01)) << "one is in flight";
    fetches[assignment->key.url].push_back(at);
    all.push_back(at);
    ASSERT_TRUE(Report(*assignment, at + 0.02, CrawlOutcome::kUnchanged).status.ok());
  }
  ASSERT_EQ(fetches.size(), 2u);
  for (const auto& [url, times] : fetches) {
    EXPECT_GE(times.size(), 6u);
    for (size_t i = 1; i < times.size(); ++i) EXPECT_GE(times[i] - times[i - 1], 60) << url;
  }
  for (size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i] - all[i - 1], 0.999);
}

TEST_F(ShardPolitenessTest, TheLongerIntervalHoldsAndARecheckOverridesBoth) {
  Add("a.example/default");
  Add("b.example/short", Duration::Seconds(10));
  Add("c.example/long", Duration::Seconds(200));
  for (int i = 0; i < 3; ++i) Crawl(1);
  EXPECT_THAT(Why("a.example/default", 50), HasSubstr("between two crawls of any page"));
  EXPECT_THAT(Why("b.example/short", 50), HasSubstr("between two crawls of any page"));
  EXPECT_THAT(Why("c.example/long", 50),
              HasSubstr("its shortest time between crawls (min_interval)"));
  EXPECT_FALSE(Next(60.9));
  Crawl(61);
  Crawl(61);
  EXPECT_FALSE(Next(120.9));
  for (const char* url : {"a.example/default", "c.example/long"}) {
    ASSERT_TRUE(Apply(RecheckPage{.key = Key(url)}, 120.9).status.ok());
  }
  EXPECT_TRUE(Next(120.9));
  EXPECT_TRUE(Next(120.9));
  EXPECT_FALSE(Next(120.9));
}

// A page whose max interval has passed is picked first, but not before its host is free.
TEST_F(ShardPolitenessTest, WhatIsForcedIsPoliteToo) {
  UpsertPage event{.key = Key("a.example/1"), .host = "a.example"};
  event.max_interval = Duration::Seconds(10);
  Apply(event, 0);
  Add("a.example/2");
  Crawl(20);
  EXPECT_FALSE(Next(20.9));
  Crawl(21);
  EXPECT_FALSE(Next(70)) << "the page interval is longer";
  for (const char* url : {"a.example/1", "a.example/2"}) {
    ASSERT_TRUE(Apply(RecheckPage{.key = Key(url)}, 70).status.ok());
  }
  const auto first = Next(70);
  ASSERT_TRUE(first);
  EXPECT_FALSE(Next(75)) << "one is in flight";
  Report(*first, 75, CrawlOutcome::kUnchanged);
  EXPECT_TRUE(Next(75));
}

TEST_F(ShardPolitenessTest, AnIntervalOfTheHostWinsOverTheDefault) {
  Add("a.example/1");
  SetHost host{.host = "a.example"};
  host.min_page_interval.emplace(Duration::Seconds(5));
  Apply(host, 0);
  Crawl(10);
  EXPECT_FALSE(Next(14.9));
  Crawl(15);
  host.min_page_interval.emplace();
  Apply(host, 15);
  Crawl(20) /* filed by the interval of before */;
  EXPECT_FALSE(Next(79.9));
  EXPECT_TRUE(Next(80));
}

TEST_F(ShardPolitenessTest, NewDefaultsActOnHostsThatWait) {
  // More hosts than fit into one slice.
  constexpr int kHosts = 17'000;
  std::vector<Event> adds;
  for (int i = 0; i < kHosts; ++i) {
    const std::string host = "h" + std::to_string(i) + ".example";
    adds.emplace_back(UpsertPage{.key = Key(host + "/1"), .host = host});
    adds.emplace_back(UpsertPage{.key = Key(host + "/2"), .host = host});
  }
  shard_.Apply(adds, At(0));
  for (int i = 0; i < kHosts; ++i) ASSERT_TRUE(Next(1));
  EXPECT_FALSE(Next(5)) << "each has its page in flight";
  shard_.state().SetPoliteness({.min_delay = Duration::Seconds(100), .max_in_flight = 2});
  EXPECT_EQ(shard_.state().next_timer(), Instant());
  std::vector<Event> none;
  int slices = 0;
  for (; shard_.state().next_timer() == Instant(); ++slices) {
    shard_.state().TakeDueTimers(At(6), 1, &none);
  }
  EXPECT_GT(slices, 1);
  EXPECT_TRUE(none.empty());
  EXPECT_FALSE(Next(100.9));
  for (int i = 0; i < kHosts; ++i) ASSERT_TRUE(Next(101));
  EXPECT_FALSE(Next(300));
  shard_.state().SetPoliteness({});
  EXPECT_EQ(shard_.state().hosts().gate.defaults(), PolitenessDefaults());
}

TEST_F(ShardPolitenessTest, RetryAfterHoldsWithEveryOutcome) {
  for (const CrawlOutcome outcome : {CrawlOutcome::kUnchanged, CrawlOutcome::kChanged,
                                     CrawlOutcome::kError, CrawlOutcome::kGone}) {
    MemoryShard shard(Options());
    for (const char* path : {"/1", "/2"}) {
      shard.Apply(UpsertPage{.key = Key("a.example" + std::string(path)), .host = "a.example"},
                  At(0));
    }
    const auto first = shard.Next(At(1), kLongLease);
    ReportCrawl report{.lease = first->lease, .fetched = At(2)};
    report.outcome = outcome;
    report.retry_after = Duration::Seconds(500);
    ASSERT_TRUE(shard.Apply(report, At(2)).status.ok());
    EXPECT_FALSE(shard.Next(At(501.9), kLongLease)) << static_cast<int>(outcome);
    EXPECT_TRUE(shard.Next(At(552), kLongLease)) << static_cast<int>(outcome);
  }
}

TEST_F(ShardPolitenessTest, RetryAfterHoldsInLateResults) {
  Add("a.example/1");
  Add("a.example/2");
  const auto late = Next(1);
  shard_.RunTimers(At(700));
  // The lease has ended.
  EXPECT_EQ(Report(*late, 700, CrawlOutcome::kUnchanged, 200, Duration::Seconds(500)).disposition,
            Disposition::kObservedOnly);
  EXPECT_FALSE(Next(1199.9));
  // These results name only the URL. Their fetches were earlier than the last crawl.
  Crawl(1300);
  ReportCrawl by_url{.key = Key("a.example/1"), .fetched = At(3)};
  by_url.outcome = CrawlOutcome::kUnchanged;
  by_url.retry_after = Duration::Seconds(300);
  Apply(by_url, 1310);
  by_url.key = Key("a.example/2");
  Apply(by_url, 1310);
  EXPECT_FALSE(Next(1609.9));
  // A later result that asks for less changes nothing.
  by_url.fetched = At(4);
  by_url.retry_after = Duration::Seconds(1);
  Apply(by_url, 1311);
  EXPECT_FALSE(Next(1609.9));
  EXPECT_TRUE(Next(1645));
}

TEST_F(ShardPolitenessTest, AResultThatIsSentAgainAsksForNothingMore) {
  Add("a.example/1");
  const auto assignment = Next(1);
  Report(*assignment, 2, CrawlOutcome::kError, 503);
  const HostRecord before = Host("a.example");
  EXPECT_EQ(Report(*assignment, 20, CrawlOutcome::kError, 503).disposition,
            Disposition::kDuplicate);
  EXPECT_EQ(Host("a.example"), before);
}

TEST_F(ShardPolitenessTest, AHostThatThrottlesIsLeftAloneForLongerAndLonger) {
  for (int i = 0; i < 20; ++i) Add("a.example/" + std::to_string(i));
  double at = 1;
  double before = 0;
  for (int i = 0; i < 6; ++i) {
    Crawl(at, std::nullopt, i % 2 == 0 ? 429 : 503);
    const double pause = (Host("a.example").blocked_until - At(at)).seconds();
    EXPECT_GT(pause, before);
    EXPECT_GE(pause, 30 * (1 << i));
    EXPECT_LE(pause, 37.5 * (1 << i));
    EXPECT_FALSE(Next(at + pause - 0.01));
    EXPECT_THAT(Why("a.example/19", at + 1),
                HasSubstr("fetched too often or cannot answer now (HTTP 429 or 503, " +
                          std::to_string(i + 1)));
    before = pause;
    at += pause + 0.001;
  }
  EXPECT_EQ(shard_.state().counters().throttled, 6u);
  // Only time without throttling reduces the count of throttled answers. Successful fetches do not.
  for (int i = 0; i < 5; ++i) Crawl(at + 2 * i);
  EXPECT_EQ(Host("a.example").throttles, 6);
  Crawl(at + 10, CrawlOutcome::kError, 429);
  EXPECT_EQ(Host("a.example").throttles, 7);
  Crawl(at + 30 * 86400, CrawlOutcome::kError, 429);
  EXPECT_EQ(Host("a.example").throttles, 1);
}

// If a host keeps throttling, its only page waits no longer than a host can be made to wait. After
// errors that are not about the host, the wait of a page can grow beyond that.
TEST_F(ShardPolitenessTest, APageOfAHostThatThrottlesIsNotGivenUp) {
  Add("a.example/503");
  double at = 1;
  for (int i = 0; i < 40; ++i) {
    Crawl(at, std::nullopt, 503);
    const PageState& state = shard_.Find(Key("a.example/503"))->state;
    EXPECT_LE(state.retry_at, At(at) + Duration::Hours(1));
    EXPECT_LE(state.errors, 8);
    at += 3600;
  }
  EXPECT_LE(Host("a.example").throttles, 3) << "an hour of quiet forgives as much as is added";
  for (int i = 0; i < 40; ++i) {
    Crawl(at, CrawlOutcome::kError, 500);
    at += 8 * 86400;
  }
  EXPECT_GT(shard_.Find(Key("a.example/503"))->state.errors, 20);
}

TEST_F(ShardPolitenessTest, AStatusAloneTellsAFailure) {
  Add("a.example/1");
  const auto assignment = Next(1);
  ReportCrawl report{.lease = assignment->lease, .fetched = At(2)};
  report.digest = "of an error page";
  report.http_status = 502;
  const Reply reply = Apply(report, 2);
  EXPECT_EQ(reply.outcome, CrawlOutcome::kError);
  EXPECT_EQ(shard_.Find(Key("a.example/1"))->detail.digest, "");
  // Only the worker can say that a page is gone.
  const auto again = Next(4000);
  ASSERT_TRUE(again);
  EXPECT_EQ(Report(*again, 4001, std::nullopt, 404).outcome, CrawlOutcome::kError);
  EXPECT_FALSE(shard_.Find(Key("a.example/1"))->state.gone);
  const auto last = Next(90'000);
  ASSERT_TRUE(last);
  EXPECT_EQ(Report(*last, 90'001, std::nullopt, 403).outcome, CrawlOutcome::kError);
}

TEST_F(ShardPolitenessTest, AnOperatorLiftsABlock) {
  Add("a.example/1");
  Crawl(1, CrawlOutcome::kError, 429);
  EXPECT_EQ(Host("a.example").throttles, 1);
  SetHost unblock{.host = "a.example"};
  unblock.blocked_until = Instant();
  Apply(unblock, 2);
  EXPECT_EQ(Host("a.example").throttles, 0);
  EXPECT_EQ(Host("a.example").blocked_until, Instant());
}

// A client asks to block a host of its crawl id.
TEST_F(ShardPolitenessTest, AClientOnlyMakesABlockLonger) {
  const auto ask = [this](const std::string& host, double until, double at,
                          const std::string& crawl_id = "DEFAULT") {
    return Apply(BlockHost{.host = host, .crawl_id = crawl_id, .until = At(until), .asked = true},
                 at);
  };
  Add("a.example/1");
  Crawl(1, CrawlOutcome::kError, 429);
  const Instant throttled = Host("a.example").blocked_until;
  EXPECT_TRUE(ask("a.example", 0, 2).status.ok());
  EXPECT_TRUE(ask("a.example", 3, 2).status.ok());
  EXPECT_EQ(Host("a.example").blocked_until, throttled);
  EXPECT_EQ(Host("a.example").throttles, 1);
  EXPECT_TRUE(ask("a.example", 500, 3).status.ok());
  EXPECT_EQ(Host("a.example").blocked_until, At(500));
  EXPECT_TRUE(ask("a.example", 400, 4).status.ok());
  EXPECT_EQ(Host("a.example").blocked_until, At(500));
  // An operator's block replaces all others.
  const BlockHost end{.host = "a.example", .crawl_id = "DEFAULT"};
  EXPECT_TRUE(Apply(end, 5).status.ok());
  EXPECT_EQ(Host("a.example").blocked_until, Instant());
  EXPECT_EQ(Host("a.example").throttles, 0);
  // Without a page of the crawl id on the host, the block has no effect.
  EXPECT_TRUE(absl::IsNotFound(ask("a.example", 500, 6, "other").status));
  EXPECT_TRUE(absl::IsNotFound(ask("b.example", 500, 6).status));
  EXPECT_EQ(shard_.state().counters().hosts, 1U);
  UpsertPage other{.key = {"other", "https://a.example/2"}, .host = "a.example"};
  const std::vector<Event> both = {
      other, BlockHost{.host = "a.example", .crawl_id = "other", .until = At(600), .asked = true}};
  shard_.Apply(both, At(7));
  EXPECT_EQ(Host("a.example").blocked_until, At(600));
}

TEST_F(ShardPolitenessTest, SaysWhatAPageWaitsFor) {
  Add("a.example/1");
  Add("a.example/2");
  const auto first = Next(1);
  const std::string other = first->key == Key("a.example/1") ? "a.example/2" : "a.example/1";
  EXPECT_THAT(Why(other, 1), HasSubstr("1 page in flight, which is its limit"));
  Report(*first, 1.5, CrawlOutcome::kUnchanged);
  EXPECT_THAT(Why(other, 1.6), HasSubstr("delay between two crawls of its host"));
  SetHost block{.host = "a.example"};
  block.blocked_until = At(100);
  Apply(block, 2);
  EXPECT_THAT(Why(other, 3), HasSubstr("blocked"));
}

// The worker of a removed page still fetches it, so adding the page again must not free the host.
TEST_F(ShardPolitenessTest, ARemovedPageIsInFlightUntilItsLeaseEnds) {
  const auto in_flight = [&] {
    uint32_t pages = 99;
    EXPECT_TRUE(shard_.state().hosts().Find("a.example", &pages).ok());
    return pages;
  };
  const auto remove_and_add = [&](double at) {
    ASSERT_TRUE(Apply(RemovePage{Key("a.example/1")}, at).status.ok());
    EXPECT_FALSE(Next(at + 5));
    UpsertPage again{.key = Key("a.example/1"), .host = "a.example"};
    ASSERT_EQ(Apply(again, at + 6).disposition, Disposition::kCreated);
    EXPECT_FALSE(Next(at + 10)) << "the page of before is still fetched";
    EXPECT_EQ(in_flight(), 1u);
  };
  Add("a.example/1");
  // A result by lease belongs to the removed page, and never to the new one.
  auto out = Next(1);
  remove_and_add(2);
  ReportCrawl by_lease{.lease = out->lease, .fetched = At(20)};
  by_lease.outcome = CrawlOutcome::kChanged;
  EXPECT_FALSE(Apply(by_lease, 20).status.ok());
  EXPECT_EQ(in_flight(), 0u);
  EXPECT_FALSE(shard_.Find(Key("a.example/1"))->state.crawled());
  const auto second = Next(21);
  ASSERT_TRUE(second);
  ReportCrawl by_url{.key = Key("a.example/1"), .lease = out->lease, .fetched = At(22)};
  by_url.outcome = CrawlOutcome::kChanged;
  EXPECT_EQ(Apply(by_url, 22).disposition, Disposition::kObservedOnly);
  EXPECT_EQ(in_flight(), 1u) << "the lease of the new page is open";
  // The lease can be returned only once.
  remove_and_add(30);
  EXPECT_TRUE(Apply(ReturnLease{second->lease}, 41).status.ok());
  EXPECT_FALSE(Apply(ReturnLease{second->lease}, 41).status.ok());
  EXPECT_EQ(in_flight(), 0u);
  // No worker answers for this lease.
  ASSERT_TRUE(Next(50));
  remove_and_add(60);
  shard_.RunTimers(At(649));
  EXPECT_EQ(in_flight(), 1u);
  shard_.RunTimers(At(650));
  EXPECT_EQ(in_flight(), 0u);
  EXPECT_EQ(shard_.state().counters().expired_leases, 1u);
  EXPECT_TRUE(Next(651));
}

// With several shards, most picks are put back.
TEST_F(ShardPolitenessTest, APickThatIsPutBackCostsItsHostNothing) {
  Add("a.example/1");
  for (int i = 0; i < 10; ++i) {
    const auto pick = shard_.state().Take(At(1));
    ASSERT_TRUE(pick);
    EXPECT_FALSE(shard_.state().Take(At(1)));
    shard_.state().PutBack(pick->page);
  }
  Crawl(1);
}

// A page that is returned with `never_left` was never fetched, so any number of these returns
// changes nothing.
TEST_F(ShardPolitenessTest, APageThatNeverLeftHoldsNeitherItselfNorItsHost) {
  for (const char* url : {"a.example/1", "a.example/2", "a.example/3"}) Add(url);
  const auto never_left = [&](const Assignment& assignment, double at, Instant host_left = {}) {
    ReturnLease event{assignment.lease};
    event.never_left = true;
    event.host_left = host_left;
    EXPECT_TRUE(Apply(event, at).status.ok());
  };
  for (int i = 0; i < 20; ++i) {
    const auto out = Next(10 + i * 0.001);
    ASSERT_TRUE(out) << i;
    EXPECT_EQ(out->key, Key("a.example/1"));
    never_left(*out, 10 + i * 0.001);
  }
  // The delay of the previous crawl continues.
  Crawl(20);
  EXPECT_FALSE(Next(20.9));
  auto out = Next(21);
  ASSERT_TRUE(out);
  never_left(*out, 21.1);
  // The delay counts from the time when the previous page was handed out.
  out = Next(21.2);
  ASSERT_TRUE(out);
  never_left(*out, 21.3, At(20.7));
  EXPECT_FALSE(Next(21.6));
  EXPECT_TRUE(Next(21.7));
}

TEST_F(ShardPolitenessTest, SurvivesARestart) {
  Add("a.example/1");
  Add("b.example/1");
  Crawl(1);
  Crawl(1, CrawlOutcome::kError, 503);
  SetHost set{.host = "a.example"};
  set.min_page_interval.emplace(Duration::Seconds(20));
  Apply(set, 2);
  for (const bool clock_known : {false, true}) {
    ShardState after(Options());
    for (const char* host : {"a.example", "b.example"}) (void)after.loading().LoadHost(Host(host));
    for (const auto& [number, record] : shard_.pages()) {
      const HostId host = after.loading().LoadHost(Host(record.host));
      const PageToLoad row =
          after.loading().PrepareLoad(number, number.value(), host, record.spec, record.state);
      ASSERT_TRUE(after.loading().LoadPages({&row, 1}, clock_known ? At(3) : Instant()).ok());
    }
    ASSERT_TRUE(after.loading().FinishLoad().empty());
    const bool a_failed = Host("a.example").throttles > 0;
    EXPECT_FALSE(after.Peek(At(20.9)));
    ASSERT_EQ(after.Peek(At(21)).has_value(), !a_failed);
    ASSERT_TRUE(after.Take(At(62)));
    ASSERT_TRUE(after.Take(At(62)));
  }
}

}  // namespace
}  // namespace freshet
