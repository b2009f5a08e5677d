// Tests leases without a result: workers never answer, or return the page every time.
#include <string>

#include "tests/core/schedule/shard_cycle.h"

namespace freshet {
namespace {

using testing::HasSubstr;

ShardOptions Options() {
  ShardOptions options;
  options.lease_backoff = Duration::Seconds(10);
  options.max_lease_backoff = Duration::Seconds(30);
  options.max_unanswered = 4;
  return options;
}

class UnansweredLeasesTest : public ShardCycleTest {
 protected:
  UnansweredLeasesTest() : ShardCycleTest(Options()) {}

  // Leases page `a` at `at` and lets the lease expire. Returns the time when the page may be leased
  // again, in seconds.
  double LetExpire(double at) {
    const auto assignment = Next(at);
    EXPECT_TRUE(assignment) << "at " << at;
    const Instant end = At(at) + kLease;
    shard_.RunTimers(end);
    return (Page("a").state.retry_at - kStart).seconds();
  }
};

TEST_F(UnansweredLeasesTest, EachWaitsTwiceAsLongAsTheOneBefore) {
  Apply(Upsert("a"), 0);
  EXPECT_DOUBLE_EQ(LetExpire(0), 70);
  EXPECT_FALSE(Next(69));
  EXPECT_DOUBLE_EQ(LetExpire(70), 150);
  EXPECT_FALSE(Next(149));
  EXPECT_DOUBLE_EQ(LetExpire(150), 240) << "the longest wait";
  EXPECT_EQ(Page("a").state.unanswered, 3);
  EXPECT_EQ(counters().given_up, 0u);
  EXPECT_EQ(counters().expired_leases, 3u);
  EXPECT_TRUE(std::isinf(Page("a").state.staleness)) << "nothing is known of it";
  EXPECT_EQ(Page("a").detail.crawls, 0u);
}

TEST_F(UnansweredLeasesTest, AfterSoManyThePageWaitsForItsNormalTurn) {
  // The pick of the other page sets the price, on which the page's normal turn depends.
  UpsertPage known = Upsert("a");
  known.known_change_rate = Rate::PerDay(1);
  Apply(known, 0);
  UpsertPage other = Upsert("b");
  other.known_change_rate = Rate::PerDay(1);
  other.last_crawl = At(0);
  Apply(other, 0);
  double at = 0;
  for (int i = 0; i < 3; ++i) at = LetExpire(at);
  const auto gone_on = Next(at - 1);
  ASSERT_TRUE(gone_on);
  ASSERT_EQ(gone_on->key, Key("b"));
  Apply(Result(*gone_on, CrawlOutcome::kUnchanged, At(at - 1)), at - 1);
  const double next = LetExpire(at);
  EXPECT_EQ(counters().given_up, 1u);
  EXPECT_GT(next, at + 60 + 30);
  EXPECT_LE(next, at + 60 + 7 * 86400);
  EXPECT_THAT(Explain("a", next - 1).why, HasSubstr("4 leases in a row ended without a result"));
  EXPECT_EQ(Explain("a", next - 1).verdict, Verdict::kTooEarly);
}

// The wait ends even if the page never reaches the price.
TEST_F(UnansweredLeasesTest, ANormalTurnComesWithinTheLongestBackOffOfErrors) {
  UpsertPage forced = Upsert("a", 0);
  forced.max_interval = Duration::Days(100);
  forced.last_crawl = At(-100 * 86400.0);
  Apply(Upsert("b"), -10);
  const auto dear = Next(-10);
  ASSERT_TRUE(dear);
  Apply(Result(*dear, CrawlOutcome::kUnchanged, At(-10)), -10);
  Apply(forced, 0);
  double at = 0;
  for (int i = 0; i < 4; ++i) at = LetExpire(at);
  EXPECT_DOUBLE_EQ(at, 240 + 60 + 7 * 86400);
}

TEST_F(UnansweredLeasesTest, AnyResultEndsTheRow) {
  Apply(Upsert("a"), 0);
  const double at = LetExpire(LetExpire(0));
  const auto assignment = Next(at);
  Apply(Result(*assignment, CrawlOutcome::kError, At(at)), at);
  EXPECT_EQ(Page("a").state.unanswered, 0);
  EXPECT_THAT(Explain("a", at + 1).why, HasSubstr("failed crawl"));
}

TEST_F(UnansweredLeasesTest, ARecheckIsHeldByWaitsToo) {
  Apply(Upsert("a"), 0);
  Apply(RecheckPage{Key("a")}, 0);
  EXPECT_DOUBLE_EQ(LetExpire(0), 70);
  EXPECT_FALSE(Next(69));
  // A page with a recheck is leased immediately.
  Apply(RecheckPage{Key("a")}, 69);
  EXPECT_DOUBLE_EQ(LetExpire(69), 149);
}

TEST_F(UnansweredLeasesTest, ALateResultDoesNotEndTheRow) {
  AddCrawled("a", -1e6);
  const auto assignment = Next(0);
  shard_.RunTimers(At(60));
  EXPECT_EQ(Apply(Result(*assignment, CrawlOutcome::kChanged, At(61)), 61).disposition,
            Disposition::kObservedOnly);
  EXPECT_EQ(Page("a").state.unanswered, 1) << "else a lease that is too short would go on for ever";
}

TEST_F(UnansweredLeasesTest, APageThatIsGivenBackGoesOutAgainAtOnceAFewTimes) {
  Apply(Upsert("a"), 0);
  for (int i = 0; i < 4; ++i) {
    const auto assignment = Next(1);
    ASSERT_TRUE(assignment) << i;
    Apply(ReturnLease{assignment->lease}, 1);
  }
  EXPECT_FALSE(Next(1.5));
  EXPECT_THAT(Explain("a", 1.5).why, HasSubstr("gave the page back 4 times"));
  const auto assignment = Next(2);
  ASSERT_TRUE(assignment);
  Apply(ReturnLease{assignment->lease}, 2);
  EXPECT_FALSE(Next(3.5)) << "two seconds this time";
  const auto last = Next(4);
  ASSERT_TRUE(last);
  Apply(Result(*last, CrawlOutcome::kChanged, At(4)), 4);
  EXPECT_EQ(Page("a").state.returned, 0);
}

TEST_F(UnansweredLeasesTest, APlanDoesNotGoRoundEither) {
  ShardOptions options = Options();
  options.policy = CrawlPolicy(PlanMethod::kUniform);
  MemoryShard shard(options);
  shard.set_crawl_rate(Rate::PerSecond(1));
  shard.Apply(Upsert("a"), At(0));
  shard.RunEpoch(At(0));
  double at = 1;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(shard.Next(At(at), kLease, "w")) << i;
    shard.RunTimers(At(at) + kLease);
    EXPECT_FALSE(shard.Next(At(at) + kLease, kLease, "w"));
    at = (shard.Find(Key("a"))->state.retry_at - kStart).seconds();
  }
  EXPECT_EQ(shard.state().counters().given_up, 1u);
}

}  // namespace
}  // namespace freshet
