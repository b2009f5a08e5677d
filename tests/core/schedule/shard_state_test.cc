// Tests the shard state machine through the cycle of a server, in virtual time.
#include "core/schedule/shard_state.h"

#include <cmath>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/url.h"
#include "core/schedule/host_book.h"
#include "core/schedule/page_book.h"
#include "core/schedule/page_to_load.h"
#include "core/schedule/pick.h"
#include "core/schedule/shard_loading.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/schedule/shard_cycle.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ShardStateTest : public ShardCycleTest {
 protected:
  static ShardOptions Options() {
    ShardOptions options;
    options.error_backoff = Duration::Seconds(100);
    options.max_error_backoff = Duration::Seconds(300);
    return options;
  }
  ShardStateTest() : ShardCycleTest(Options()) {}
};

// A page that an earlier release stored keeps the key `old`, which was canonical then. Today its
// key would be `new`.
TEST_F(ShardStateTest, APageOfAnEarlierReleaseGoesByTheTextItWasStoredUnder) {
  Apply(Upsert("old"), 0);
  for (const bool of_slot : {true, false}) {
    const auto assignment = Next(of_slot ? 10 : 100'000);
    ASSERT_TRUE(assignment);
    ReportCrawl report = Result(*assignment, CrawlOutcome::kChanged, assignment->at);
    report.key.reset();
    if (of_slot) report.key = Key("new");
    report.as_sent = Key("other");
    EXPECT_THAT(Apply(report, of_slot ? 12 : 100'002).status.message(), HasSubstr("is for page"));
    report.as_sent = assignment->key;
    EXPECT_EQ(Apply(report, of_slot ? 13 : 100'003).disposition, Disposition::kApplied);
    EXPECT_EQ(counters().leases, 0u);
    EXPECT_EQ(Apply(report, of_slot ? 14 : 100'004).disposition, Disposition::kDuplicate);
  }
  ReportCrawl unleased{.key = Key("new"), .as_sent = Key("old"), .fetched = At(200'000)};
  unleased.outcome = CrawlOutcome::kChanged;
  EXPECT_EQ(Apply(unleased, 200'001).disposition, Disposition::kApplied);
  EXPECT_EQ(Page("old").detail.crawls, 3u);
  // A page whose key equals the key that was sent takes precedence over the older page.
  Apply(Upsert("new"), 200'002);
  const RemovePage remove{.key = Key("new"), .as_sent = Key("old")};
  EXPECT_TRUE(Apply(remove, 200'003).status.ok());
  EXPECT_EQ(shard_.Find(Key("new")), nullptr);
  EXPECT_TRUE(Apply(remove, 200'004).status.ok());
  EXPECT_EQ(shard_.Find(Key("old")), nullptr);
  EXPECT_THAT(Apply(remove, 200'005).status.message(), HasSubstr("not known"));
}

TEST_F(ShardStateTest, APageGoesOutOnceAndComesBackFresh) {
  EXPECT_EQ(Apply(Upsert("a"), 0).disposition, Disposition::kCreated);
  EXPECT_EQ(Apply(Upsert("a"), 1).disposition, Disposition::kApplied);
  const auto assignment = Next(10);
  ASSERT_TRUE(assignment);
  EXPECT_EQ(assignment->key, Key("a"));
  EXPECT_EQ(assignment->deadline, At(10) + kLease);
  EXPECT_EQ(assignment->last_crawl, Instant());
  EXPECT_FALSE(Next(11)) << "a leased page is not handed out again";
  const Reply reply = Apply(Result(*assignment, CrawlOutcome::kChanged, At(12)), 13);
  EXPECT_TRUE(reply.status.ok());
  EXPECT_EQ(Page("a").state.last_crawl, At(12));
  EXPECT_EQ(Page("a").state.staleness, 0);
  EXPECT_EQ(counters().leases, 0u);
  EXPECT_TRUE(Next(100));
}

TEST_F(ShardStateTest, TheSameResultTwiceCountsOnce) {
  Apply(Upsert("a"), 0);
  const auto assignment = Next(10);
  Apply(Result(*assignment, CrawlOutcome::kChanged, At(12)), 13);
  const PageRecord before = Page("a");
  const Reply again = Apply(Result(*assignment, CrawlOutcome::kChanged, At(12)), 14);
  EXPECT_EQ(again.disposition, Disposition::kDuplicate);
  EXPECT_EQ(Page("a"), before);
}

TEST_F(ShardStateTest, OfLeasesThatAreOverTheOldestAreForgotten) {
  Apply(Upsert("a"), 0);
  std::vector<LeaseId> ended;
  while (ended.size() <= limits::kMaxRememberedLeases) {
    // A page that workers return repeatedly waits up to an hour between two leases.
    const double at = 3600 * static_cast<double>(1 + ended.size());
    const auto assignment = Next(at);
    ASSERT_TRUE(assignment);
    ended.push_back(assignment->lease);
    ASSERT_TRUE(Apply(ReturnLease{assignment->lease}, at).status.ok());
  }
  ReportCrawl result{.lease = ended[0], .fetched = At(12)};
  result.outcome = CrawlOutcome::kChanged;
  const double end = 3600 * static_cast<double>(ended.size() + 2);
  EXPECT_THAT(std::string(Apply(result, end).status.message()), HasSubstr("is not open"));
  for (const LeaseId remembered : {ended[1], ended.back()}) {
    result.lease = remembered;
    EXPECT_EQ(Apply(result, end).disposition, Disposition::kObservedOnly);
    EXPECT_EQ(Apply(result, end).disposition, Disposition::kDuplicate);
  }
}

TEST_F(ShardStateTest, TheSameResultByItsLeaseAloneCountsOnce) {
  Apply(Upsert("a"), 0);
  const auto first = Next(10);
  ReportCrawl result{.lease = first->lease, .fetched = At(12)};
  result.outcome = CrawlOutcome::kChanged;
  const std::vector<Event> twice = {result, result};
  const std::vector<Reply> replies = shard_.Apply(twice, At(13));
  EXPECT_EQ(replies[0].disposition, Disposition::kApplied);
  EXPECT_EQ(replies[1].disposition, Disposition::kDuplicate);
  // The lease identifies the result, even if another result came first, and even if the time
  // differs.
  Apply(RecheckPage{Key("a")}, 14);
  const auto second = Next(15);
  Apply(Result(*second, CrawlOutcome::kUnchanged, At(16)), 16);
  const PageRecord before = Page("a");
  result.fetched = At(20);
  EXPECT_EQ(Apply(result, 20).disposition, Disposition::kDuplicate);
  result.key = Key("a");
  EXPECT_EQ(Apply(result, 21).disposition, Disposition::kDuplicate);
  EXPECT_EQ(Page("a"), before);
}

TEST_F(ShardStateTest, ALateResultByItsLeaseAloneIsObservedOnce) {
  AddCrawled("a", 0);
  Apply(RecheckPage{Key("a")}, 5);
  const auto assignment = Next(10);
  shard_.RunTimers(At(1000));
  ReportCrawl late{.lease = assignment->lease, .fetched = At(1001)};
  late.outcome = CrawlOutcome::kChanged;
  EXPECT_EQ(Apply(late, 1001).disposition, Disposition::kObservedOnly);
  late.fetched = At(1002);
  EXPECT_EQ(Apply(late, 1002).disposition, Disposition::kDuplicate);
  EXPECT_EQ(Page("a").detail.statistics.recent.size(), 1u);
}

TEST_F(ShardStateTest, AnExpiredLeaseReturnsThePageAfterAWhile) {
  Apply(Upsert("a"), 0);
  const auto assignment = Next(10);
  shard_.RunTimers(At(69));
  EXPECT_EQ(counters().leases, 1u);
  shard_.RunTimers(At(70));
  EXPECT_EQ(counters().leases, 0u);
  EXPECT_EQ(counters().expired_leases, 1u);
  EXPECT_FALSE(Next(129));
  const auto second = Next(131);
  ASSERT_TRUE(second);
  EXPECT_GT(second->lease.value(), assignment->lease.value());
}

TEST_F(ShardStateTest, AResultOfAnOldLeaseIsAnObservationNotAStateChange) {
  AddCrawled("a", 0);
  Apply(RecheckPage{Key("a")}, 5);
  const auto assignment = Next(10);
  ASSERT_TRUE(assignment);
  shard_.RunTimers(At(1000));
  const PageState before = Page("a").state;
  const Reply late = Apply(Result(*assignment, CrawlOutcome::kChanged, At(60)), 1001);
  EXPECT_EQ(late.disposition, Disposition::kObservedOnly);
  EXPECT_EQ(Page("a").state.last_crawl, before.last_crawl);
  EXPECT_EQ(Page("a").state.staleness, before.staleness);
  ASSERT_EQ(Page("a").detail.statistics.recent.size(), 1u);
  EXPECT_TRUE(Page("a").detail.statistics.recent[0].changed);
  const Reply again = Apply(Result(*assignment, CrawlOutcome::kChanged, At(60)), 1002);
  EXPECT_EQ(again.disposition, Disposition::kDuplicate);
}

TEST_F(ShardStateTest, AReturnedLeaseChangesNothing) {
  Apply(Upsert("a"), 0);
  const PageDetail before = Page("a").detail;
  const auto assignment = Next(10);
  EXPECT_TRUE(Apply(ReturnLease{assignment->lease}, 11).status.ok());
  EXPECT_EQ(Page("a").detail, before);
  EXPECT_TRUE(Next(12));
  EXPECT_EQ(Apply(ReturnLease{assignment->lease}, 13).status.code(), absl::StatusCode::kNotFound);
}

TEST_F(ShardStateTest, AResultByUrlEndsTheLeaseOfThePage) {
  Apply(Upsert("a"), 0);
  const auto assignment = Next(10);
  ASSERT_TRUE(assignment);
  ReportCrawl early{.key = Key("a"), .fetched = At(5)};
  early.outcome = CrawlOutcome::kUnchanged;
  Apply(early, 11);
  EXPECT_EQ(counters().leases, 1u) << "fetched before the page was handed out";
  ReportCrawl report{.key = Key("a"), .fetched = At(12)};
  report.outcome = CrawlOutcome::kUnchanged;
  EXPECT_EQ(Apply(report, 13).disposition, Disposition::kApplied);
  EXPECT_EQ(counters().leases, 0u);
  const Reply late = Apply(Result(*assignment, CrawlOutcome::kChanged, At(14)), 15);
  EXPECT_EQ(late.disposition, Disposition::kObservedOnly);
}

TEST_F(ShardStateTest, UnknownThingsAreNamed) {
  EXPECT_THAT(Apply(RemovePage{Key("x")}, 0).status.message(), HasSubstr("not known"));
  EXPECT_THAT(Apply(Signal("x"), 0).status.message(), HasSubstr("https://example.com/x"));
  ReportCrawl report{.lease = LeaseId(77), .fetched = At(0)};
  report.outcome = CrawlOutcome::kChanged;
  EXPECT_THAT(Apply(report, 0).status.message(), HasSubstr("lease_id: 77"));
  EXPECT_EQ(counters().signals_unknown_url, 1u);
}

TEST_F(ShardStateTest, ALeaseAndAUrlThatDisagreeAreRefused) {
  Apply(Upsert("a"), 0);
  Apply(Upsert("b"), 0);
  const auto assignment = Next(1);
  ReportCrawl report = Result(*assignment, CrawlOutcome::kChanged, At(2));
  report.key = assignment->key == Key("a") ? Key("b") : Key("a");
  EXPECT_EQ(Apply(report, 3).status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(counters().leases, 1u);
}

TEST_F(ShardStateTest, TheDigestDecidesWhatTheWorkerDoesNotSay) {
  Apply(Upsert("a"), 0);
  const auto report = [&](const std::string& digest, double at) {
    const auto assignment = Next(at);
    ReportCrawl result{.lease = assignment->lease, .fetched = At(at)};
    result.digest = digest;
    return *Apply(result, at).outcome;
  };
  EXPECT_EQ(report("one", 10), CrawlOutcome::kChanged);
  EXPECT_EQ(report("one", 1000), CrawlOutcome::kUnchanged);
  EXPECT_EQ(report("two", 2000), CrawlOutcome::kChanged);
  EXPECT_EQ(Page("a").detail.changes, 1u) << "the first crawl differs from nothing";
  EXPECT_EQ(Page("a").detail.crawls, 3u);
  ReportCrawl silent{.key = Key("a"), .fetched = At(3000)};
  EXPECT_THAT(Apply(silent, 3000).status.message(), HasSubstr("outcome"));
}

TEST_F(ShardStateTest, ASignalMovesThePageAndAnOldOneDoesNot) {
  AddCrawled("a", 0);
  EXPECT_EQ(Apply(Signal("a"), 10).disposition, Disposition::kApplied);
  const double staleness = Page("a").state.staleness;
  EXPECT_GT(staleness, 0);
  SignalChange old = Signal("a");
  old.changed = At(-5);
  EXPECT_EQ(Apply(old, 20).disposition, Disposition::kStale);
  SignalChange repeated = Signal("a");
  repeated.changed = At(8);
  EXPECT_EQ(Apply(repeated, 30).disposition, Disposition::kDuplicate) << "not newer than known";
  EXPECT_EQ(Page("a").state.signals.Total(), 1);
}

TEST_F(ShardStateTest, ASignalIdCountsOnce) {
  AddCrawled("a", 0);
  SignalChange signal = Signal("a");
  signal.signal_id_hash = 99;
  const std::vector<Event> both = {signal, signal};
  const auto replies = shard_.Apply(both, At(10));
  EXPECT_EQ(replies[0].disposition, Disposition::kApplied);
  EXPECT_EQ(replies[1].disposition, Disposition::kDuplicate);
  EXPECT_EQ(Apply(signal, 20).disposition, Disposition::kDuplicate);
  SignalChange of_another = Signal("a", 1);
  of_another.signal_id_hash = 99;
  EXPECT_EQ(Apply(of_another, 21).disposition, Disposition::kApplied) << "ids are of a source";
  EXPECT_EQ(Page("a").state.signals.Total(), 2);
}

// A page remembers the ids of its latest signals, even after a crawl in between.
TEST_F(ShardStateTest, ThePageRemembersTheIdsOfItsLatestSignals) {
  AddCrawled("a", 0);
  SignalChange signal = Signal("a");
  for (uint64_t id = 1; id <= limits::kMaxRememberedSignalIds + 1; ++id) {
    signal.signal_id_hash = id;
    ASSERT_EQ(Apply(signal, 10 + static_cast<double>(id)).disposition, Disposition::kApplied);
    if (id == 9) {
      Apply(RecheckPage{Key("a")}, 19);
      Apply(Result(*Next(19), CrawlOutcome::kChanged, At(19)), 19);
    }
  }
  EXPECT_EQ(Page("a").detail.signal_ids.size(), limits::kMaxRememberedSignalIds);
  for (uint64_t id = 2; id <= limits::kMaxRememberedSignalIds + 1; ++id) {
    signal.signal_id_hash = id;
    ASSERT_EQ(Apply(signal, 40).disposition, Disposition::kDuplicate) << id;
  }
  signal.signal_id_hash = 1;
  EXPECT_EQ(Apply(signal, 50).disposition, Disposition::kApplied) << "the oldest was forgotten";
}

// The claims of one source do not limit those of another.
TEST_F(ShardStateTest, ANewerClaimOfASourceIsTakenWhateverOthersClaim) {
  AddCrawled("a", 0);
  const auto claim = [&](uint8_t source, double changed, double at) {
    SignalChange signal = Signal("a", source);
    signal.changed = At(changed);
    return Apply(signal, at).disposition;
  };
  EXPECT_EQ(claim(0, 10, 100), Disposition::kApplied);
  EXPECT_EQ(claim(1, 50, 101), Disposition::kApplied);
  EXPECT_EQ(claim(0, 30, 102), Disposition::kApplied) << "newer than what it has claimed";
  EXPECT_EQ(claim(0, 30, 103), Disposition::kDuplicate);
  EXPECT_EQ(claim(0, 20, 104), Disposition::kDuplicate);
  EXPECT_EQ(claim(1, 50, 105), Disposition::kDuplicate);
  EXPECT_EQ(Page("a").state.signals.Total(), 3);
  // A crawl ends all waits. Claims from before the crawl are stale.
  Apply(RecheckPage{Key("a")}, 106);
  Apply(Result(*Next(107), CrawlOutcome::kChanged, At(107)), 108);
  EXPECT_THAT(Page("a").detail.claims, testing::IsEmpty());
  EXPECT_EQ(claim(0, 60, 109), Disposition::kStale);
}

TEST_F(ShardStateTest, ASignalNewerThanTheFetchOutlivesTheResult) {
  AddCrawled("a", 0);
  Apply(RecheckPage{Key("a")}, 1);
  const auto assignment = Next(10);
  Apply(Signal("a"), 11);  // before the fetch
  Apply(Signal("a"), 15);  // after it
  Apply(Result(*assignment, CrawlOutcome::kChanged, At(12)), 20);
  EXPECT_EQ(Page("a").state.signals.Total(), 1);
  EXPECT_GT(Page("a").state.staleness, 0);
  ASSERT_EQ(Page("a").detail.statistics.recent.size(), 1u);
  EXPECT_EQ(Page("a").detail.statistics.recent[0].signals.Total(), 1);
}

TEST_F(ShardStateTest, FailuresBackOffAndKeepTheStaleness) {
  Apply(Upsert("a"), 0);
  auto assignment = Next(1);
  Apply(Result(*assignment, CrawlOutcome::kError, At(2)), 2);
  EXPECT_FALSE(Next(101));
  assignment = Next(102);
  ASSERT_TRUE(assignment);
  Apply(Result(*assignment, CrawlOutcome::kError, At(102.5)), 103);
  EXPECT_FALSE(Next(302));
  assignment = Next(303);
  ASSERT_TRUE(assignment);
  Apply(Result(*assignment, CrawlOutcome::kError, At(304)), 304);
  EXPECT_EQ(Page("a").state.retry_at, At(604)) << "the longest back-off";
  EXPECT_TRUE(std::isinf(Page("a").state.staleness));
}

TEST_F(ShardStateTest, RetryAfterHoldsTheWholeHost) {
  Apply(Upsert("a"), 0);
  Apply(Upsert("b"), 0);
  const auto assignment = Next(1);
  ReportCrawl report = Result(*assignment, CrawlOutcome::kError, At(2));
  report.http_status = 503;
  report.retry_after = Duration::Seconds(1000);
  Apply(report, 2);
  EXPECT_FALSE(Next(1001));
  EXPECT_TRUE(Next(1002));
}

// Three pages belong to one poll. The crawl of one changes the value of the others' signals.
TEST_F(ShardStateTest, ACrawlReweighsTheSignalsOfItsBurst) {
  std::vector<Event> poll;
  for (const char* path : {"a", "b", "c"}) {
    AddCrawled(path, 0);
    SignalChange signal = Signal(path);
    signal.pages_in_poll = 3;
    signal.poll = 99;
    poll.emplace_back(signal);
  }
  shard_.Apply(poll, At(10));
  const PageState before = Page("b").state;
  EXPECT_NE(before.bursts[0].burst, 0u);
  EXPECT_EQ(Page("c").state.bursts[0].burst, before.bursts[0].burst);
  EXPECT_GT(shard_.state().next_timer(), At(11));

  ReportCrawl report{.key = Key("a"), .fetched = At(11)};
  report.outcome = CrawlOutcome::kUnchanged;
  Apply(report, 12);
  EXPECT_EQ(Page("a").state.bursts[0].burst, 0u) << "it waits no more";
  EXPECT_LE(shard_.state().next_timer(), At(12));
  shard_.RunTimers(At(12));
  EXPECT_GT(shard_.state().next_timer(), At(12));
  for (const char* path : {"b", "c"}) {
    const PageState& after = Page(path).state;
    EXPECT_LT(after.bursts[0].shift, before.bursts[0].shift);
    EXPECT_LT(after.staleness, before.staleness);
  }
}

TEST_F(ShardStateTest, ASignalThatCameAloneHasNoBurst) {
  AddCrawled("a", 0);
  Apply(Signal("a"), 10);
  EXPECT_EQ(Page("a").state.bursts[0].burst, 0u);
  EXPECT_EQ(Page("a").state.signals.Total(), 1);
}

TEST_F(ShardStateTest, ARemovedPageIsGoneFromEverything) {
  Apply(Upsert("a"), 0);
  const auto assignment = Next(1);
  EXPECT_TRUE(Apply(RemovePage{Key("a")}, 2).status.ok());
  EXPECT_EQ(counters().pages, 0u);
  EXPECT_EQ(shard_.Find(Key("a")), nullptr);
  EXPECT_EQ(counters().leases, 1u) << "but for the fetch that is under way";
  EXPECT_FALSE(Apply(Result(*assignment, CrawlOutcome::kChanged, At(3)), 3).status.ok());
  EXPECT_EQ(counters().leases, 0u);
  EXPECT_EQ(Apply(Upsert("a"), 4).disposition, Disposition::kCreated);
  EXPECT_TRUE(Next(5));
}

TEST_F(ShardStateTest, OneBatchSeesItsOwnChanges) {
  const std::vector<Event> events = {Upsert("a"), Signal("a"), RemovePage{Key("a")}, Signal("a"),
                                     Upsert("a", 5)};
  const auto replies = shard_.Apply(events, At(0));
  EXPECT_EQ(replies[0].disposition, Disposition::kCreated);
  EXPECT_EQ(replies[1].disposition, Disposition::kApplied);
  EXPECT_TRUE(replies[2].status.ok());
  EXPECT_FALSE(replies[3].status.ok());
  EXPECT_EQ(replies[4].disposition, Disposition::kCreated);
  EXPECT_EQ(counters().pages, 1u);
  EXPECT_EQ(Page("a").spec.importance, 5);
}

// A page is picked, and other events of the page are in the same batch.
class SameBatchTest : public ShardStateTest {
 protected:
  LeasePage Pick(double at) {
    const auto pick = shard_.state().Take(At(at));
    EXPECT_TRUE(pick);
    return {.page = pick->page, .worker = "w", .at = At(at), .lease = kLease};
  }
  uint32_t InFlight() {
    uint32_t in_flight = 99;
    EXPECT_TRUE(shard_.state().hosts().Find("example.com", &in_flight).ok());
    return in_flight;
  }
};

TEST_F(SameBatchTest, ARemovalDoesNotEndTheLeaseThatWasOpenedBeforeIt) {
  Apply(Upsert("a"), 0);
  const std::vector<Event> batch = {Pick(10), RemovePage{Key("a")}};
  const std::vector<Reply> replies = shard_.Apply(batch, At(10));
  ASSERT_TRUE(replies[0].assignment);
  EXPECT_EQ(counters().leases, 1u) << "a worker was told to fetch the page";
  EXPECT_EQ(InFlight(), 1u);
  shard_.RunTimers(At(10) + kLease);
  EXPECT_EQ(counters().expired_leases, 1u);
  EXPECT_EQ(counters().leases, 0u);
  EXPECT_EQ(InFlight(), 0u);
}

TEST_F(SameBatchTest, ALeaseEndsAfterItsPageIsRemoved) {
  Apply(Upsert("a"), 0);
  const auto assignment = Next(10);
  const std::vector<Event> batch = {RemovePage{Key("a")}, ReturnLease{assignment->lease},
                                    Upsert("a")};
  for (const Reply& reply : shard_.Apply(batch, At(11))) EXPECT_TRUE(reply.status.ok());
  EXPECT_EQ(counters().leases, 0u);
  EXPECT_EQ(InFlight(), 0u);
  EXPECT_TRUE(Next(12));
}

TEST_F(SameBatchTest, AResultByUrlEndsTheLeaseThatWasOpenedBeforeIt) {
  Apply(Upsert("a"), 0);
  ReportCrawl report{.key = Key("a"), .fetched = At(11)};
  report.outcome = CrawlOutcome::kChanged;
  const std::vector<Event> batch = {Pick(10), report};
  ASSERT_TRUE(shard_.Apply(batch, At(11))[0].assignment);
  EXPECT_EQ(counters().leases, 0u);
  EXPECT_EQ(InFlight(), 0u);
  Apply(RecheckPage{Key("a")}, 12);
  EXPECT_TRUE(Next(13)) << "the page is not out";
}

TEST_F(SameBatchTest, ALeaseOfAPageThatIsGoneByThenNeedsNoRecord) {
  Apply(Upsert("a"), 0);
  const LeasePage late = Pick(10);
  Apply(RemovePage{Key("a")}, 11);
  std::vector<PageNumber> wanted;
  shard_.state().Want(late, &wanted);
  EXPECT_TRUE(wanted.empty()) << "the store no longer has it";
  EXPECT_FALSE(Apply(late, 12).status.ok());
  EXPECT_EQ(InFlight(), 0u);
}

TEST_F(ShardStateTest, APageWithoutImportanceGoesOutOnlyWhenForced) {
  UpsertPage event = Upsert("a", 0);
  event.max_interval = Duration::Seconds(100);
  Apply(event, 0);
  EXPECT_FALSE(Next(10)) << "never crawled, and worth nothing all the same";
  Apply(RecheckPage{Key("a")}, 20);
  const auto assignment = Next(21);
  ASSERT_TRUE(assignment);
  Apply(Result(*assignment, CrawlOutcome::kChanged, At(22)), 22);
  EXPECT_FALSE(Next(121));
  EXPECT_TRUE(Next(123));
}

TEST_F(ShardStateTest, BoundsOfThePageHold) {
  UpsertPage event = Upsert("a");
  event.last_crawl = At(0);
  event.min_interval = Duration::Seconds(100);
  event.max_interval = Duration::Seconds(500);
  Apply(event, 0);
  EXPECT_FALSE(Next(99));
  Apply(Signal("a"), 99.5);
  const auto early = Next(100);
  ASSERT_TRUE(early);
  Apply(Result(*early, CrawlOutcome::kUnchanged, At(100)), 100);
  shard_.Apply(Upsert("b"), At(100));
  EXPECT_EQ(Next(599)->key, Key("b"));
  const auto forced = Next(600);
  ASSERT_TRUE(forced);
  EXPECT_EQ(forced->key, Key("a"));
  EXPECT_TRUE(std::isinf(forced->value));
  event.max_interval = Duration::Seconds(50);
  EXPECT_THAT(Apply(event, 700).status.message(), HasSubstr("max_interval"));
}

TEST_F(ShardStateTest, AnUpsertChangesOnlyWhatItNames) {
  UpsertPage event = Upsert("a", 7);
  event.min_interval = Duration::Seconds(100);
  Apply(event, 0);
  UpsertPage change{.key = Key("a"), .host = "example.com"};
  change.max_interval = Duration::Seconds(200);
  Apply(change, 1);
  EXPECT_EQ(Page("a").spec.importance, 7);
  EXPECT_EQ(Page("a").spec.min_interval, Duration::Seconds(100));
  EXPECT_EQ(Page("a").spec.max_interval, Duration::Seconds(200));
}

TEST_F(ShardStateTest, RecheckGoesFirst) {
  for (int i = 0; i < 20; ++i) Apply(Upsert("p" + std::to_string(i), 100), 0);
  AddCrawled("low", 0);
  Apply(RecheckPage{Key("low")}, 1);
  EXPECT_EQ(Next(2)->key, Key("low"));
}

TEST_F(ShardStateTest, PolitenessOfAHostHolds) {
  Apply(Upsert("a"), 0);
  Apply(Upsert("b"), 0);
  SetHost host{.host = "example.com"};
  host.min_delay = std::optional(Duration::Seconds(10));
  host.max_in_flight = std::optional(1u);
  Apply(host, 0);
  const auto first = Next(1);
  ASSERT_TRUE(first);
  EXPECT_FALSE(Next(50)) << "one is in flight";
  Apply(Result(*first, CrawlOutcome::kUnchanged, At(50)), 50);
  ASSERT_TRUE(Next(51));
  shard_.RunTimers(At(200));
  SetHost block{.host = "example.com"};
  block.blocked_until = At(1000);
  Apply(block, 200);
  EXPECT_FALSE(Next(999));
  EXPECT_TRUE(Next(1000));
}

TEST_F(ShardStateTest, ExplainsWhyNot) {
  AddCrawled("a", 0);
  Apply(Upsert("b"), 0);
  Next(1);
  const Explanation explanation = shard_.state().Explain(Page("a"), At(10));
  EXPECT_GE(explanation.value, 0);
  EXPECT_GT(explanation.price, 0);
  EXPECT_GT(explanation.next_crawl, At(10));
  EXPECT_THAT(explanation.why, HasSubstr("price"));
  const Explanation leased = shard_.state().Explain(Page("b"), At(10));
  EXPECT_THAT(leased.why, HasSubstr("lease"));
}

TEST_F(ShardStateTest, ARestartGoesOnWithWhatWasCommitted) {
  AddCrawled("a", 0);
  Apply(Upsert("b"), 0);
  Apply(Upsert("c"), 0);
  const auto leased = Next(1);
  ASSERT_TRUE(leased);
  MemoryShard& before = shard_;
  ShardOptions options = Options();
  options.generation = 2;
  ShardState after(options);
  for (const auto& [number, page] : before.pages()) {
    const HostId host = after.loading().LoadHost({.host = page.host});
    const PageToLoad row = after.loading().PrepareLoad(
        number, Fingerprinter().Of(page.key.crawl_id, page.key.url), host, page.spec, page.state);
    ASSERT_TRUE(after.loading().LoadPages({&row, 1}).ok());
    EXPECT_FALSE(after.loading().LoadPages({&row, 1}).ok()) << "the same page twice";
  }
  after.loading().LoadLease(*before.state().pages().FindLease(leased->lease));
  ASSERT_TRUE(after.loading().FinishLoad().empty());
  EXPECT_EQ(after.counters().pages, 3u);
  EXPECT_EQ(after.counters().leases, 1u);
  const auto pick_before = before.state().Peek(At(5));
  const auto pick_after = after.Peek(At(5));
  ASSERT_TRUE(pick_before && pick_after);
  EXPECT_EQ(pick_before->page, pick_after->page);
  EXPECT_EQ(pick_before->value, pick_after->value);
  std::vector<PageNumber> found;
  after.pages().FindNumbers(Page("b").key, &found);
  EXPECT_THAT(found, ElementsAre(Page("b").number));
}

TEST_F(ShardStateTest, LoadingTellsOfTwoPagesOfOneFingerprintAndKeepsBoth) {
  ShardState state(Options());
  const HostId host = state.loading().LoadHost({.host = "h"});
  for (uint64_t serial = 1; serial <= 2; ++serial) {
    const PageNumber number = MakePageNumber(Slot(7), serial);
    const PageToLoad row = state.loading().PrepareLoad(number, 99, host, PageSpec(), PageState());
    ASSERT_TRUE(state.loading().LoadPages({&row, 1}).ok());
  }
  EXPECT_THAT(state.loading().FinishLoad(), ElementsAre(MakePageNumber(Slot(7), 2)));
  EXPECT_EQ(state.counters().pages, 2u);
}

TEST_F(ShardStateTest, RefusesPagesBeyondTheMost) {
  ShardOptions options = Options();
  options.max_pages = 3;
  MemoryShard shard(options);
  ASSERT_EQ(shard.Apply(Upsert("a"), At(0)).disposition, Disposition::kCreated);
  // Sends the same events in one batch.
  const std::vector<Event> events = {Upsert("b"), Upsert("a"), Upsert("c"), Upsert("d")};
  const std::vector<Reply> replies = shard.Apply(events, At(1));
  EXPECT_EQ(replies[2].disposition, Disposition::kCreated);
  EXPECT_TRUE(absl::IsResourceExhausted(replies[3].status));
  EXPECT_THAT(std::string(replies[3].status.message()), HasSubstr("more shards"));
  EXPECT_EQ(shard.state().counters().pages, 3u);
  EXPECT_TRUE(absl::IsResourceExhausted(shard.Apply(Upsert("d"), At(2)).status));
  ASSERT_TRUE(shard.Apply(RemovePage{.key = Key("b")}, At(3)).status.ok());
  EXPECT_EQ(shard.Apply(Upsert("d"), At(4)).disposition, Disposition::kCreated);

  options.max_pages = 2;
  ShardState fewer(options);
  for (const auto& [number, page] : shard.pages()) {
    const HostId host = fewer.loading().LoadHost({.host = page.host});
    const PageToLoad row = fewer.loading().PrepareLoad(
        number, Fingerprinter().Of(page.key.crawl_id, page.key.url), host, page.spec, page.state);
    const bool fits = fewer.counters().pages < 2;
    EXPECT_EQ(absl::IsResourceExhausted(fewer.loading().LoadPages({&row, 1})), !fits);
  }
}

}  // namespace
}  // namespace freshet
