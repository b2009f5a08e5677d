// Tests many workers of one client under one name, which has as many leases as a name may have.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/engine/worker_pool.h"
#include "tests/server/engine/no_sink.h"

namespace freshet {
namespace {

class FullWorkers : public ::testing::Test {
 protected:
  static constexpr size_t kWorkers = 500;
  static constexpr uint32_t kLeases = 1000;

  FullWorkers() {
    for (size_t i = 0; i < kWorkers; ++i) {
      const auto id = pool_.Join({.name = "w", .client = "c", .lease = Duration::Seconds(60)},
                                 std::make_shared<NoSink>(), 10 * kWorkers);
      EXPECT_TRUE(id.ok()) << id.status();
      pool_.Grant(*id, 1000);
    }
    End(0);
    while (Ask(64) > 0) continue;
  }
  // Ends this many leases with a result, so that the name counts as proven.
  void End(uint32_t leases) {
    const uint32_t opened = leases == 0 ? 1 : 0;
    const uint32_t ended = leases + opened;
    (void)pool_.OnLeases({{key_, {.opened = opened, .ended = ended, .answered = ended}}}, now_);
  }
  // Offers this many pages and returns how many leases workers get.
  uint32_t Ask(size_t pages) {
    std::vector<LeaseTerms> terms(pages);
    std::vector<WorkerId> workers;
    (void)pool_.Ask(1, &terms, &workers);
    const auto got = static_cast<uint32_t>(terms.size());
    (void)pool_.OnLeases({{key_, {.opened = got}}}, now_);
    Deliveries deliveries;
    (void)pool_.Settle(workers, terms, std::vector<bool>(got, true), now_, &deliveries);
    for (const WorkerId id : workers) {
      ++turns_[id];
      (void)pool_.Serve(id, Assignment{}, now_, &deliveries);
    }
    return got;
  }

  const WorkerKey key_ = {"c", "w"};
  const Instant now_ = Instant::FromUnixSeconds(1000);
  WorkerPool pool_ = WorkerPool({.open_leases = kLeases});
  std::map<WorkerId, uint32_t> turns_;
};

// Previously, the dispatcher examined all workers, under its lock, whenever a lease ended.
TEST_F(FullWorkers, FewAreLetInForALeaseThatEnds) {
  EXPECT_EQ(pool_.in_turn(), 0U);
  End(1);
  EXPECT_LE(pool_.in_turn(), 65U);
  EXPECT_EQ(Ask(64), 1U);
}

TEST_F(FullWorkers, AllHaveTheirTurnsWhenThereIsRoom) {
  for (int i = 0; i < 1000; ++i) {
    End(1);
    EXPECT_EQ(Ask(64), 1U);
  }
  End(kLeases);
  uint32_t got = 0;
  while (const uint32_t more = Ask(64)) got += more;
  EXPECT_EQ(got, kLeases);
  EXPECT_EQ(turns_.size(), kWorkers);
  uint32_t least = UINT32_MAX;
  uint32_t most = 0;
  for (const auto& [id, turns] : turns_) {
    least = std::min(least, turns);
    most = std::max(most, turns);
  }
  EXPECT_GE(2 * least, most);
}

TEST_F(FullWorkers, ThoseBehindOneThatLeavesHaveItsTurn) {
  End(1);
  // The workers that got a lease disconnect.
  for (WorkerId id = 1; id <= kWorkers / 2; ++id) {
    if (pool_.Find(id) != nullptr) pool_.Remove(id);
  }
  EXPECT_EQ(Ask(64), 1U);
}

}  // namespace
}  // namespace freshet
