// Tests results of open leases. Each result ends its lease and counts, whatever the worker's clock
// shows and whatever the result omits.
#include <string>
#include <vector>

#include "core/schedule/pick.h"
#include "tests/core/schedule/shard_cycle.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ResultsTest : public ShardCycleTest {
 protected:
  // Leases page "a" at `at`. No other page competes.
  Assignment Out(double at) {
    Apply(RecheckPage{Key("a")}, at);
    const auto assignment = Next(at);
    EXPECT_TRUE(assignment);
    return *assignment;
  }
};

// Regression: a worker whose clock was behind caused hundreds of fetches a second.
TEST_F(ResultsTest, AClockThatIsBehindDoesNotBringThePageBack) {
  AddCrawled("a", 0);
  const Assignment assignment = Out(10);
  const Reply reply = Apply(Result(assignment, CrawlOutcome::kUnchanged, At(-50)), 12);
  EXPECT_EQ(reply.disposition, Disposition::kApplied);
  EXPECT_THAT(reply.notes, ElementsAre(HasSubstr("fetch_time: is 60.000 s before the lease")));
  EXPECT_EQ(Page("a").state.last_crawl, At(10)) << "when the lease began";
  EXPECT_EQ(Page("a").state.staleness, 0);
  EXPECT_FALSE(Page("a").state.recheck);
  EXPECT_EQ(counters().leases, 0u);
  EXPECT_EQ(Page("a").detail.statistics.recent.size(), 1u);
}

TEST_F(ResultsTest, AClockADayBehindCostsNoMoreThanOneFetchATurn) {
  AddCrawled("a", 0);
  for (double at = 100; at < 1000; at += 100) {
    const Assignment assignment = Out(at);
    const Reply reply = Apply(Result(assignment, CrawlOutcome::kChanged, At(at - 86400)), at + 1);
    ASSERT_EQ(reply.disposition, Disposition::kApplied);
    ASSERT_EQ(Page("a").state.last_crawl, At(at));
  }
  EXPECT_EQ(Page("a").detail.crawls, 9u);
}

TEST_F(ResultsTest, AClockThatIsAheadIsTakenAsNow) {
  AddCrawled("a", 0);
  const Assignment first = Out(10);
  const Reply reply = Apply(Result(first, CrawlOutcome::kChanged, At(250)), 12);
  EXPECT_THAT(reply.notes, ElementsAre(HasSubstr("238.000 s ahead of the server's clock")));
  EXPECT_EQ(Page("a").state.last_crawl, At(12));
  // The clock of the next worker is right.
  const Assignment second = Out(20);
  const Reply next = Apply(Result(second, CrawlOutcome::kUnchanged, At(21)), 22);
  EXPECT_THAT(next.notes, IsEmpty());
  EXPECT_EQ(Page("a").state.last_crawl, At(21));
  EXPECT_NEAR(Page("a").detail.statistics.recent.back().elapsed.seconds(), 9, 0.1);
}

TEST_F(ResultsTest, SmallDifferencesOfClocksNeedNoWord) {
  AddCrawled("a", 0);
  const Assignment assignment = Out(10);
  EXPECT_THAT(Apply(Result(assignment, CrawlOutcome::kChanged, At(9.5)), 12).notes, IsEmpty());
  EXPECT_EQ(Page("a").state.last_crawl, At(10));
}

// The last crawl can be in the future, because a crawl that the server did not order was reported
// with a future date, or because the server's clock was set back between two runs.
TEST_F(ResultsTest, ALastCrawlInTheFutureIsCorrected) {
  AddCrawled("a", 0);
  ReportCrawl ahead{.key = Key("a"), .fetched = At(300)};
  ahead.outcome = CrawlOutcome::kUnchanged;
  Apply(ahead, 5);
  ASSERT_EQ(Page("a").state.last_crawl, At(300));
  const size_t observed = Page("a").detail.statistics.recent.size();
  const Assignment assignment = Out(10);
  const Reply reply = Apply(Result(assignment, CrawlOutcome::kChanged, At(11)), 12);
  EXPECT_EQ(reply.disposition, Disposition::kApplied);
  EXPECT_EQ(Page("a").state.last_crawl, At(11));
  EXPECT_EQ(Page("a").state.carried_at, At(11));
  EXPECT_EQ(Page("a").detail.statistics.recent.size(), observed) << "it ended no interval";
  EXPECT_EQ(counters().leases, 0u);
}

TEST_F(ResultsTest, AnIntervalOfNothingIsNoObservation) {
  Apply(Upsert("a"), 0);
  const Assignment first = Out(10);
  Apply(Result(first, CrawlOutcome::kChanged, At(10)), 10);
  const Assignment second = Out(10);
  const Reply reply = Apply(Result(second, CrawlOutcome::kChanged, At(10)), 10);
  EXPECT_EQ(reply.disposition, Disposition::kApplied);
  EXPECT_EQ(Page("a").state.last_crawl, At(10));
  EXPECT_EQ(Page("a").detail.crawls, 2u);
  EXPECT_THAT(Page("a").detail.statistics.recent, IsEmpty());
  EXPECT_EQ(counters().duplicate_results, 0u) << "its lease says that it is another";
}

TEST_F(ResultsTest, AClockThatStandsStillEndsEveryLease) {
  AddCrawled("a", 0);
  for (double at = 100; at < 500; at += 100) {
    const Assignment assignment = Out(at);
    EXPECT_EQ(Apply(Result(assignment, CrawlOutcome::kUnchanged, At(50)), at).disposition,
              Disposition::kApplied);
    EXPECT_EQ(Page("a").state.last_crawl, At(at));
  }
}

TEST_F(ResultsTest, ARepetitionIsKnownByLeaseAndByTheTimeThatWasSaid) {
  AddCrawled("a", 0);
  const Assignment assignment = Out(100);
  const ReportCrawl report = Result(assignment, CrawlOutcome::kChanged, At(40));
  const std::vector<Event> twice = {report, report};
  const std::vector<Reply> replies = shard_.Apply(twice, At(101));
  EXPECT_EQ(replies[0].disposition, Disposition::kApplied);
  EXPECT_EQ(replies[1].disposition, Disposition::kDuplicate);
  const PageRecord before = Page("a");
  EXPECT_EQ(Apply(report, 102).disposition, Disposition::kDuplicate);
  ReportCrawl by_url = report;
  by_url.lease = LeaseId();
  EXPECT_EQ(Apply(by_url, 103).disposition, Disposition::kDuplicate);
  EXPECT_EQ(Page("a"), before);
}

// The result is sent again while the page is leased again. It must not end the new lease.
TEST_F(ResultsTest, ARepetitionByUrlLeavesALaterLeaseOpen) {
  AddCrawled("a", 0);
  (void)Out(100);
  ReportCrawl by_url{.key = Key("a"), .fetched = At(390)};
  by_url.outcome = CrawlOutcome::kChanged;
  EXPECT_EQ(Apply(by_url, 101).disposition, Disposition::kApplied);
  (void)Out(200);
  EXPECT_EQ(Apply(by_url, 201).disposition, Disposition::kDuplicate);
  EXPECT_EQ(counters().leases, 1u);
}

TEST_F(ResultsTest, AResultByUrlFromBeforeTheLeaseIsNotItsAnswer) {
  AddCrawled("a", 0);
  const Assignment assignment = Out(100);
  ReportCrawl by_url{.key = Key("a"), .fetched = At(-60)};
  by_url.outcome = CrawlOutcome::kUnchanged;
  EXPECT_EQ(Apply(by_url, 101).disposition, Disposition::kObservedOnly);
  EXPECT_EQ(counters().leases, 1u);
  EXPECT_EQ(Apply(Result(assignment, CrawlOutcome::kUnchanged, At(101)), 102).disposition,
            Disposition::kApplied);
}

TEST_F(ResultsTest, AResultThatNothingDecidesCountsForTheWorse) {
  AddCrawled("a", 0);
  ReportCrawl silent{.lease = Out(10).lease, .fetched = At(11)};
  Reply reply = Apply(silent, 12);
  EXPECT_EQ(reply.disposition, Disposition::kApplied);
  EXPECT_EQ(reply.outcome, CrawlOutcome::kError);
  EXPECT_THAT(reply.notes, ElementsAre(HasSubstr("outcome: is missing")));
  EXPECT_EQ(counters().leases, 0u);
  EXPECT_GT(Page("a").state.retry_at, At(12));

  // Workers can change the kind of digest.
  ReportCrawl digest{.lease = Out(1000).lease, .fetched = At(1001)};
  digest.digest = "sha1";
  digest.outcome = CrawlOutcome::kChanged;
  Apply(digest, 1002);
  ReportCrawl other{.lease = Out(2000).lease, .fetched = At(2001)};
  other.digest = "sha256";
  reply = Apply(other, 2002);
  EXPECT_EQ(reply.outcome, CrawlOutcome::kChanged);
  EXPECT_THAT(reply.notes, ElementsAre(HasSubstr("counts as changed")));
  EXPECT_EQ(Page("a").detail.digest, "sha256");
  other.lease = Out(3000).lease;
  other.fetched = At(3001);
  EXPECT_EQ(Apply(other, 3002).outcome, CrawlOutcome::kUnchanged);
}

// The worker did not compare the page. The copy is as fresh as the fetch, but nothing is learned.
TEST_F(ResultsTest, AResultOfWhichNobodyLookedTeachesOnlyWhereDigestsCompare) {
  AddCrawled("a", 0);
  const size_t before = Page("a").detail.statistics.recent.size();
  const auto report = [this](int64_t at, const std::string& digest) {
    ReportCrawl event{.key = Key("a"), .fetched = At(at), .outcome = CrawlOutcome::kUnchanged};
    event.looked = false;
    event.digest = digest;
    EXPECT_EQ(Apply(event, at).disposition, Disposition::kApplied);
    EXPECT_EQ(Page("a").state.last_crawl, At(at));
    return Page("a").detail.statistics.recent.size();
  };
  EXPECT_EQ(report(10, ""), before);
  EXPECT_EQ(report(20, "one"), before);
  EXPECT_EQ(report(30, "one"), before + 1);
  EXPECT_EQ(report(40, "two"), before + 2);
  EXPECT_EQ(report(50, ""), before + 2);
  // The digests before and after a fetch without a digest are not compared.
  EXPECT_EQ(report(60, "two"), before + 2);
  EXPECT_EQ(Page("a").detail.changes, 1U);
}

TEST_F(ResultsTest, ALateResultThatNothingDecidesIsRefused) {
  AddCrawled("a", 0);
  ReportCrawl silent{.lease = Out(10).lease, .fetched = At(11)};
  shard_.RunTimers(At(1000));
  EXPECT_THAT(std::string(Apply(silent, 1001).status.message()), HasSubstr("outcome: "));
}

// The fetch was before the poll, so it tells nothing about the poll's signals.
TEST_F(ResultsTest, AFetchFromBeforeAPollDoesNotJudgeIt) {
  for (const char* path : {"a", "b", "c"}) AddCrawled(path, 0);
  const Assignment assignment = Out(10);
  for (const char* path : {"a", "b", "c"}) {
    SignalChange signal = Signal(path);
    signal.pages_in_poll = 3;
    signal.poll = 99;
    Apply(signal, 20);
  }
  const uint32_t burst = Page("b").state.bursts[0].burst;
  ASSERT_NE(burst, 0u);
  Apply(Result(assignment, CrawlOutcome::kUnchanged, At(15)), 25);
  EXPECT_EQ(Page("a").state.last_crawl, At(15));
  EXPECT_EQ(Page("a").state.signals.Total(), 1);
  EXPECT_EQ(Page("a").state.bursts[0].burst, burst) << "it still waits for it";
  EXPECT_TRUE(Page("a").detail.statistics.recent[0].signals.empty());
  shard_.RunTimers(At(26));
  EXPECT_EQ(Page("b").state.bursts[0].shift, 0);
  // The next fetch was after the poll.
  const Assignment next = Out(30);
  Apply(Result(next, CrawlOutcome::kUnchanged, At(31)), 32);
  EXPECT_EQ(Page("a").state.bursts[0].burst, 0u);
  shard_.RunTimers(At(33));
  EXPECT_LT(Page("b").state.bursts[0].shift, 0);
}

// A fetch between two polls tells whether the signals of the earlier one were true.
TEST_F(ResultsTest, OfTwoPollsTheOlderIsJudged) {
  for (const char* path : {"a", "b", "c"}) AddCrawled(path, 0);
  const auto poll = [&](uint64_t number, double at) {
    for (const char* path : {"a", "b", "c"}) {
      SignalChange signal = Signal(path);
      signal.pages_in_poll = 3;
      signal.poll = number;
      Apply(signal, at);
    }
  };
  poll(7, 5);
  const Assignment assignment = Out(10);
  poll(8, 20);
  const auto before = Page("b").state.bursts;
  ASSERT_NE(before[1].burst, 0u);
  Apply(Result(assignment, CrawlOutcome::kUnchanged, At(15)), 25);
  EXPECT_EQ(Page("a").state.bursts[0].burst, before[0].burst);
  EXPECT_EQ(Page("a").state.bursts[1].burst, 0u);
  shard_.RunTimers(At(26));
  EXPECT_EQ(Page("b").state.bursts[0].shift, 0);
  EXPECT_LT(Page("b").state.bursts[1].shift, 0);
}

// A late result does not become the result of a page that has none. It is only an observation, and
// counts as one only once.
TEST_F(ResultsTest, ALateResultIsNoneOfAPageThatHasNone) {
  AddCrawled("a", 0);
  const auto assignment = Next(1000);
  ASSERT_TRUE(assignment);
  Apply(ExpireLease{assignment->lease}, 1100);
  const ReportCrawl late = Result(*assignment, CrawlOutcome::kChanged, At(1010));
  EXPECT_EQ(Apply(late, 1200).disposition, Disposition::kObservedOnly);
  EXPECT_EQ(Page("a").detail.statistics.recent.size(), 1u) << "it is an observation";
  EXPECT_TRUE(Page("a").detail.last_result.is_none());
  EXPECT_EQ(Apply(late, 1300).disposition, Disposition::kDuplicate);
  EXPECT_EQ(Page("a").detail.statistics.recent.size(), 1u);
}

// A late result does not update the page. The next crawl finds the same change, and its interval
// replaces that of the late fetch.
TEST_F(ResultsTest, AChangeThatALateResultHasSeenCountsOnce) {
  AddCrawled("a", 0);
  const Assignment assignment = Out(10);
  shard_.RunTimers(At(200));
  const PageState before = Page("a").state;
  ASSERT_EQ(Apply(Result(assignment, CrawlOutcome::kChanged, At(150)), 1000).disposition,
            Disposition::kObservedOnly);
  EXPECT_EQ(Page("a").state, before);
  const auto& recent = Page("a").detail.statistics.recent;
  ASSERT_EQ(recent.size(), 1u);
  EXPECT_EQ(recent[0].fetched, At(150));
  EXPECT_NEAR(recent[0].exposure, 150, 1);
  const Assignment next = Out(2000);
  Apply(Result(next, CrawlOutcome::kChanged, At(2001)), 2001);
  ASSERT_EQ(Page("a").detail.statistics.recent.size(), 1u);
  EXPECT_EQ(Page("a").detail.statistics.recent[0].elapsed, CoarseSpan(Duration::Seconds(2001)));
  EXPECT_NEAR(Page("a").detail.statistics.recent[0].exposure, 2001, 10);
  const Assignment third = Out(3000);
  Apply(Result(third, CrawlOutcome::kUnchanged, At(3001)), 3001);
  EXPECT_EQ(Page("a").detail.statistics.recent.size(), 2u) << "crawls stay";
}

// There might be signals after the late fetch, so the fetch does not prove that there were none.
TEST_F(ResultsTest, ALateResultFromBeforeASignalProvesNothing) {
  AddCrawled("a", 0);
  const Assignment assignment = Out(10);
  shard_.RunTimers(At(200));
  Apply(Signal("a"), 300);
  ASSERT_EQ(Apply(Result(assignment, CrawlOutcome::kUnchanged, At(60)), 1000).disposition,
            Disposition::kObservedOnly);
  EXPECT_TRUE(Page("a").detail.statistics.recent.empty());
}

// --- Leases of identities

class HeldLeasesTest : public ResultsTest {
 protected:
  static Reporter Identity(const std::string& name) {
    return std::make_shared<const std::string>(name);
  }
  // Leases "a" to a worker of this client.
  Assignment OutTo(const std::string& client, double at) {
    Apply(RecheckPage{Key("a")}, at);
    const auto pick = shard_.state().Take(At(at));
    EXPECT_TRUE(pick);
    const Reply reply = Apply(
        LeasePage{
            .page = pick->page, .worker = "w", .client = client, .at = At(at), .lease = kLease},
        at);
    EXPECT_TRUE(reply.assignment);
    return *reply.assignment;
  }
  // Makes a result that names only its lease, as if the lease id was guessed.
  static ReportCrawl Guess(const Assignment& assignment, const Reporter& reporter,
                           Instant fetched) {
    ReportCrawl report{.lease = assignment.lease, .fetched = fetched, .reporter = reporter};
    report.outcome = CrawlOutcome::kGone;
    return report;
  }
};

TEST_F(HeldLeasesTest, AreEndedByTheirIdentityAlone) {
  AddCrawled("a", 0);
  const Assignment assignment = OutTo("identity good", 10);
  const Reply guessed = Apply(Guess(assignment, Identity("evil"), At(11)), 11);
  EXPECT_TRUE(absl::IsNotFound(guessed.status)) << guessed.status;
  EXPECT_THAT(guessed.status.message(), HasSubstr("is not open"));
  const Reply returned =
      Apply(ReturnLease{.lease = assignment.lease, .reporter = Identity("evil")}, 12);
  EXPECT_TRUE(absl::IsNotFound(returned.status)) << returned.status;
  EXPECT_FALSE(Page("a").state.gone);
  EXPECT_EQ(counters().leases, 1u);
  ReportCrawl own = Result(assignment, CrawlOutcome::kChanged, At(13));
  own.reporter = Identity("good");
  EXPECT_EQ(Apply(own, 13).disposition, Disposition::kApplied);
  EXPECT_EQ(counters().leases, 0u);
}

// Other identities cannot learn whether the lease has a result yet.
TEST_F(HeldLeasesTest, AreTheirIdentitysWhenTheyAreOver) {
  AddCrawled("a", 0);
  const Assignment assignment = OutTo("identity good", 10);
  shard_.RunTimers(At(10) + kLease);
  ASSERT_EQ(counters().expired_leases, 1u);
  EXPECT_TRUE(absl::IsNotFound(Apply(Guess(assignment, Identity("evil"), At(80)), 80).status));
  ReportCrawl late = Result(assignment, CrawlOutcome::kChanged, At(20));
  late.reporter = Identity("good");
  EXPECT_EQ(Apply(late, 81).disposition, Disposition::kObservedOnly);
  EXPECT_EQ(Apply(late, 82).disposition, Disposition::kDuplicate);
}

// A result for the lease of another identity counts as an observation if it also names the page's
// URL, as if it had no lease.
TEST_F(HeldLeasesTest, OfOthersAreNoneAndTheFetchIsAnObservation) {
  AddCrawled("a", 0);
  const Assignment assignment = OutTo("identity good", 10);
  ReportCrawl report = Result(assignment, CrawlOutcome::kChanged, At(11));
  report.reporter = Identity("evil");
  EXPECT_EQ(Apply(report, 12).disposition, Disposition::kObservedOnly);
  EXPECT_EQ(Page("a").state.last_crawl, At(0));
  EXPECT_EQ(counters().leases, 1u);
}

// A result that names only the page does not end the lease of another identity. The page and its
// host stay leased.
TEST_F(HeldLeasesTest, OfOthersAreNotEndedByTheUrlAlone) {
  AddCrawled("a", 0);
  const Assignment assignment = OutTo("identity good", 10);
  ReportCrawl report{.key = Key("a"), .fetched = At(11), .reporter = Identity("evil")};
  report.outcome = CrawlOutcome::kChanged;
  EXPECT_EQ(Apply(report, 12).disposition, Disposition::kObservedOnly);
  EXPECT_EQ(Page("a").state.last_crawl, At(0));
  EXPECT_EQ(counters().leases, 1u);
  // A fetch from before the lease cannot be a result of the lease.
  report.fetched = At(5);
  EXPECT_EQ(Apply(report, 12).disposition, Disposition::kApplied);
  EXPECT_EQ(counters().leases, 1u);
  ReportCrawl own = Result(assignment, CrawlOutcome::kChanged, At(13));
  own.reporter = Identity("good");
  EXPECT_EQ(Apply(own, 13).disposition, Disposition::kApplied);
  EXPECT_EQ(counters().leases, 0u);
  // The holder of the lease may omit the lease id.
  (void)OutTo("identity good", 20);
  report.fetched = At(21);
  report.reporter = Identity("good");
  EXPECT_EQ(Apply(report, 21).disposition, Disposition::kApplied);
  EXPECT_EQ(counters().leases, 0u);
}

// If there are no identities, or if an earlier release made the lease, the holder is unknown.
TEST_F(HeldLeasesTest, OfNoIdentityAreAnybodys) {
  AddCrawled("a", 0);
  double at = 10;
  for (const char* client : {"", "network 192.0.2.1"}) {
    const Assignment assignment = OutTo(client, at);
    ReportCrawl report = Result(assignment, CrawlOutcome::kChanged, At(at + 1));
    report.reporter = Identity("fleet");
    EXPECT_EQ(Apply(report, at + 1).disposition, Disposition::kApplied) << client;
    at += 10;
  }
  const Assignment held = OutTo("identity good", at);
  EXPECT_EQ(Apply(Result(held, CrawlOutcome::kChanged, At(at)), at).disposition,
            Disposition::kApplied)
      << "the server itself, or one without identities";
}

}  // namespace
}  // namespace freshet
