#include "server/engine/lease_tally.h"

#include "core/model/lease.h"
#include "core/model/page.h"
#include "core/schedule/learning.h"
#include "core/schedule/leases.h"
#include "core/schedule/shard_loading.h"
#include "core/schedule/shard_options.h"
#include "core/schedule/shard_state.h"
#include "core/schedule/transaction.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr uint32_t kGeneration = 7;

Instant SecondAt(int64_t second) { return Instant::FromUnixSeconds(1'700'000'000 + second); }

// A shard with one page, which is leased by this run or an earlier one.
class LeaseTallyTest : public testing::Test {
 protected:
  LeaseTallyTest() {
    Transaction txn;
    const UpsertPage upsert{.key = {"DEFAULT", "https://a.test/"}, .host = "a.test"};
    EXPECT_TRUE(state_.Step(upsert, SecondAt(0), txn).status.ok());
    number_ = txn.pages().front().record.number;
    page_ = txn.pages().front().record;
    (void)txn.Finish(state_.learning().estimator());
    state_.Install(txn);
  }
  LeaseId Lend(uint32_t generation) {
    const uint64_t ordinal = uint64_t{generation} << 32 | 1;
    LeaseRecord lease;
    lease.id = MakeLeaseId(ordinal, SlotOf(number_));
    lease.page = number_;
    lease.worker = "w1";
    lease.client = "identity good";
    lease.assigned = SecondAt(1);
    lease.deadline = SecondAt(61);
    state_.loading().LoadLease(lease);
    return lease.id;
  }
  LeaseTallies TallyOf(const Event& event) {
    Transaction txn;
    txn.Load(page_);
    EXPECT_TRUE(state_.Step(event, SecondAt(61), txn).status.ok());
    (void)txn.Finish(state_.learning().estimator());
    return TallyLeases(state_, txn, kGeneration);
  }

  ShardState state_{{.generation = kGeneration}};
  PageNumber number_;
  PageRecord page_;
};

TEST_F(LeaseTallyTest, CountsForTheClientAndTheNameThatItGives) {
  const LeaseTallies tallies = TallyOf(ExpireLease{Lend(kGeneration)});
  ASSERT_EQ(tallies.size(), 1u);
  const LeaseTally& tally = tallies.at({"identity good", "w1"});
  EXPECT_EQ(tally.ended, 1u);
  EXPECT_EQ(tally.expired, 1u);
}

// A killed run loses the leases that it opened ahead of their ticks. Workers never got these
// leases, so their expiry does not count against the workers.
TEST_F(LeaseTallyTest, BlamesNobodyForLeasesOfARunBefore) {
  const LeaseTallies tallies = TallyOf(ExpireLease{Lend(kGeneration - 1)});
  for (const auto& [worker, tally] : tallies) {
    EXPECT_EQ(tally.expired, 0u) << worker.name;
    EXPECT_EQ(tally.ended, 0u) << worker.name;
  }
}

// A result of a lease from before the restart proves its worker, too.
TEST_F(LeaseTallyTest, CountsResultsOfLeasesOfARunBefore) {
  ReportCrawl report{.key = page_.key, .lease = Lend(kGeneration - 1), .fetched = SecondAt(30)};
  report.outcome = CrawlOutcome::kChanged;
  const LeaseTallies tallies = TallyOf(report);
  EXPECT_EQ(tallies.at({"identity good", "w1"}).answered, 1u);
}

}  // namespace
}  // namespace freshet
