#include "server/engine/worker_roster.h"

#include "gtest/gtest.h"

namespace freshet {
namespace {

Instant RosterAt(int64_t second) { return Instant::FromUnixSeconds(second); }

TEST(WorkerRoster, CountsLeasesByName) {
  WorkerRoster roster;
  roster.Saw({"network n", "a"}, "10.0.0.1", RosterAt(1));
  roster.Count({{{"network n", "a"}, {.opened = 5}}}, RosterAt(2));
  EXPECT_EQ(roster.records()[0].last_seen, RosterAt(1));
  roster.Count({{{"network n", "a"}, {.opened = 1, .ended = 3, .answered = 2, .expired = 1}}},
               RosterAt(3));
  const WorkerRecord record = roster.records()[0];
  EXPECT_EQ(record.address, "10.0.0.1");
  EXPECT_EQ(record.last_seen, RosterAt(3));
  EXPECT_EQ(record.leases, 3u);
  EXPECT_EQ(record.assignments, 6u);
  EXPECT_EQ(record.results, 2u);
  EXPECT_EQ(record.expired, 1u);
}

TEST(WorkerRoster, ForgetsTheOneThatWasSeenTheLongestAgo) {
  WorkerRoster roster;
  for (size_t i = 0; i <= WorkerRoster::kMaxNames; ++i) {
    roster.Saw({"", "w" + std::to_string(i)}, "", RosterAt(static_cast<int64_t>(i)));
  }
  const std::vector<WorkerRecord> records = roster.records();
  ASSERT_EQ(records.size(), WorkerRoster::kMaxNames);
  EXPECT_EQ(records.front().name, "w" + std::to_string(WorkerRoster::kMaxNames));
  EXPECT_EQ(records.back().name, "w1");
  // Leases of a forgotten worker are not counted.
  roster.Count({{{"", "w0"}, {.ended = 1, .answered = 1}}}, RosterAt(5000));
  EXPECT_EQ(roster.records().size(), WorkerRoster::kMaxNames);
  EXPECT_EQ(roster.records().front().last_seen,
            RosterAt(static_cast<int64_t>(WorkerRoster::kMaxNames)));
}

TEST(WorkerRoster, KeepsWhatAClientWithFewHasFromOneWithMany) {
  WorkerRoster roster;
  roster.Saw({"identity good", "w1"}, "", RosterAt(0));
  for (size_t i = 0; i < 2 * WorkerRoster::kMaxNames; ++i) {
    roster.Saw({"identity evil", "w" + std::to_string(i)}, "", RosterAt(static_cast<int64_t>(i)));
  }
  EXPECT_EQ(roster.records().back().client, "identity good");
  EXPECT_EQ(roster.records().back().name, "w1");
}

}  // namespace
}  // namespace freshet
