// Tests a store whose data is in a topic. Acknowledged rows are in the topic, and the local
// database can be rebuilt from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/schedule/followed_changes.h"
#include "fmt/format.h"
#include "rocksdb/env.h"
#include "storage/follower.h"
#include "storage/format.h"
#include "storage/internal/keys.h"
#include "storage/internal/records.h"
#include "storage/repair.h"
#include "storage/restore.h"
#include "storage/store.h"
#include "sync/mutex.h"
#include "tests/storage/kafka/mock_kafka.h"
#include "tests/storage/kafka/node.h"
#include "tests/storage/random_records.h"
#include "tests/storage/small_store.h"
#include "tests/storage/store_model.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using testing::HasSubstr;

// A machine with a clock that is ahead.
class LaterEnv final : public rocksdb::EnvWrapper {
 public:
  explicit LaterEnv(int64_t seconds) : EnvWrapper(Default()), seconds_(seconds) {}
  const char* Name() const override { return "LaterEnv"; }
  rocksdb::Status GetCurrentTime(int64_t* now) override {
    const rocksdb::Status status = target()->GetCurrentTime(now);
    *now += seconds_;
    return status;
  }

 private:
  const int64_t seconds_;
};

// A log of which only some rows can be read.
class ShortLog final : public ChangeLog {
 public:
  ShortLog(ChangeLog& log, int rows) : log_(log), rows_(rows) {}

  [[nodiscard]] const std::string& name() const override { return log_.name(); }
  [[nodiscard]] uint32_t partitions() const override { return log_.partitions(); }
  [[nodiscard]] Status Own(uint32_t partition) override { return log_.Own(partition); }
  [[nodiscard]] StatusOr<uint64_t> Append(uint32_t partition,
                                          std::span<const LogRow> rows) override {
    return log_.Append(partition, rows);
  }
  [[nodiscard]] StatusOr<uint64_t> Read(uint32_t partition, uint64_t from,
                                        std::optional<uint64_t> end, const Visit& visit) override {
    return log_.Read(partition, from, end, [&](const LogRow& row, uint64_t next) -> Status {
      if (rows_-- == 0) return MakeStatus(absl::StatusCode::kCancelled, "broken off");
      return visit(row, next);
    });
  }
  [[nodiscard]] Status health() const override { return log_.health(); }
  [[nodiscard]] ChangeLogStats Stats() const override { return log_.Stats(); }
  void StopWaiting() override { log_.StopWaiting(); }

 private:
  ChangeLog& log_;
  int rows_;
};

// Lets the store read the log to its end, and then makes opening fail, so that the store never
// takes over the log. Thread-safe.
class PassingFollower final : public Follower {
 public:
  Status CaughtUp() override { return absl::CancelledError("has all of it"); }
  bool MayOwn() override { return false; }
  bool MayOwnSoon() override { return false; }
  Status Prepare(Store&) override { return absl::OkStatus(); }
  Status Update(uint16_t, FollowedChanges) override { return absl::OkStatus(); }
  void Outdate() override {}
};

class StoreOnKafkaTest : public testing::Test {
 protected:
  Node Start(const std::string& dir, const MockKafka& kafka, Follower* follower = nullptr) {
    return StartNode(dir_ / dir, kafka, follower);
  }

  static Changes OnePage(const PageRecord& page) {
    Changes changes;
    changes.pages.push_back({.record = &page, .created = true});
    return changes;
  }

  static void ExpectContents(const Store& store, const StoreContents& expected) {
    const StatusOr<StoreContents> found = ReadContents(store);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(expected.DifferenceFrom(*found), "");
    const StatusOr<VerifyReport> report = store.Verify();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->ok()) << testing::PrintToString(report->problems);
  }

  TempDir dir_;
  RandomRecords random_{1};
};

TEST_F(StoreOnKafkaTest, WhatWasCommittedIsThereAfterARestartAndWhenTheDiskIsLost) {
  MockKafka kafka("mock", 1);
  const Script script(7, 60);
  uint64_t generation = 0;
  {
    Node node = Start("db", kafka);
    ASSERT_TRUE(node.status.ok()) << node.status;
    for (const ScriptedCommit& commit : script.commits()) {
      ASSERT_TRUE(node.store->Commit(commit.changes).ok());
    }
    EXPECT_GE(node.log->Stats().transactions, 50U);
    generation = node.store->generation();
  }
  {
    const Node again = Start("db", kafka);
    ASSERT_TRUE(again.status.ok()) << again.status;
    // The store lacks only the row with which it took over the log. Two more rows prove that the
    // log is the same.
    EXPECT_EQ(again.log->Stats().rows_read, 3U);
    EXPECT_EQ(again.store->generation(), generation + 1);
    ExpectContents(*again.store, script.After(script.commits().size()));
  }
  const Node lost = Start("elsewhere", kafka);
  ASSERT_TRUE(lost.status.ok()) << lost.status;
  EXPECT_EQ(lost.store->generation(), generation + 2);
  ExpectContents(*lost.store, script.After(script.commits().size()));
}

TEST_F(StoreOnKafkaTest, AStoreThatIsBehindTakesInTheRest) {
  MockKafka kafka("mock", 1);
  const Script script(8, 40);
  const size_t half = script.commits().size() / 2;
  const auto commit = [&](Store& store, size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) {
      ASSERT_TRUE(store.Commit(script.commits()[i].changes).ok());
    }
  };
  {
    const Node node = Start("db", kafka);
    ASSERT_TRUE(node.status.ok()) << node.status;
    commit(*node.store, 0, half);
  }
  std::filesystem::copy(dir_ / "db", dir_ / "old", std::filesystem::copy_options::recursive);
  {
    const Node node = Start("db", kafka);
    ASSERT_TRUE(node.status.ok()) << node.status;
    commit(*node.store, half, script.commits().size());
  }
  const Node behind = Start("old", kafka);
  ASSERT_TRUE(behind.status.ok()) << behind.status;
  EXPECT_GT(behind.log->Stats().rows_read, 0U);
  ExpectContents(*behind.store, script.After(script.commits().size()));
}

// Records the calls of the store and what the store has read. Owner thread only, except `may_own`,
// `soon` and Update.
class NotingFollower final : public Follower {
 public:
  Status CaughtUp() override {
    ++caught_up;
    return then_fail;
  }
  bool MayOwn() override {
    EXPECT_EQ(caught_up, 1);
    return may_own;
  }
  bool MayOwnSoon() override { return soon; }
  Status Prepare(Store& store) override {
    StatusOr<StoreContents> contents = ReadContents(store);
    EXPECT_TRUE(contents.ok()) << contents.status();
    prepared = *std::move(contents);
    generation = store.generation();
    ++preparations;
    if (then) then();
    return absl::OkStatus();
  }
  Status Update(uint16_t partition, FollowedChanges changes) override {
    const MutexLock lock(mutex);
    EXPECT_TRUE(prepared.has_value());
    ++updates;
    for (const PageRecord& page : changes.pages) {
      EXPECT_EQ(partition, 0);
      prepared->pages.insert_or_assign(page.number, page);
    }
    for (const PageNumber number : changes.removed_pages) prepared->pages.erase(number);
    for (const HostRecord& host : changes.hosts) prepared->hosts.insert_or_assign(host.host, host);
    for (const std::string& host : changes.removed_hosts) prepared->hosts.erase(host);
    return refusal;
  }
  void Outdate() override {
    ++outdated;
    prepared.reset();
  }

  std::atomic<bool> may_own = false;
  std::atomic<bool> soon = true;
  std::atomic<int> preparations = 0;
  int caught_up = 0;
  Mutex mutex;
  int updates = 0;
  int outdated = 0;
  Status refusal;
  Status then_fail;
  std::function<void()> then;
  std::optional<StoreContents> prepared;
  uint64_t generation = 0;
};

TEST_F(StoreOnKafkaTest, WhoFollowsIsToldWhenItHasAllAndWhenThatIsNoLongerSo) {
  MockKafka kafka("mock", 1);
  const Script script(9, 60);
  Node first = Start("db", kafka);
  ASSERT_TRUE(first.status.ok()) << first.status;
  size_t committed = 0;
  const auto commit_to = [&](size_t end) {
    for (; committed < end; ++committed) {
      ASSERT_TRUE(first.store->Commit(script.commits()[committed].changes).ok());
    }
  };
  commit_to(20);
  NotingFollower follower;
  // During each preparation, more commits arrive. At the first preparation, the other server still
  // serves. At the second, this server gets the turn and reads the rest of the log.
  follower.then = [&] {
    if (follower.preparations == 1) {
      EXPECT_EQ(script.After(20).DifferenceFrom(*follower.prepared), "");
      commit_to(40);
    } else {
      EXPECT_EQ(script.After(40).DifferenceFrom(*follower.prepared), "");
      EXPECT_EQ(follower.generation, first.store->generation() + 1);
      commit_to(60);
      follower.may_own = true;
    }
  };
  const Node second = Start("standby", kafka, &follower);
  ASSERT_TRUE(second.status.ok()) << second.status;
  EXPECT_EQ(follower.preparations, 2);
  EXPECT_FALSE(follower.prepared.has_value());
  ExpectContents(*second.store, script.After(60));
}

// Makes random changes of pages, hosts, leases and sources.
TEST_F(StoreOnKafkaTest, WhatWasPreparedFollowsPagesAndHostsUntilTheStoreIsOpen) {
  for (const bool refused : {false, true}) {
    MockKafka kafka("mock", 1);
    const Script script(11, 60);
    const std::string name = refused ? "refused" : "db";
    Node first = Start(name, kafka);
    ASSERT_TRUE(first.status.ok()) << first.status;
    size_t committed = 0;
    const auto commit_to = [&](size_t end) {
      for (; committed < end; ++committed) {
        Changes changes = script.commits()[committed].changes;
        changes.crawls.clear();
        changes.removed_crawls.clear();
        changes.settings.reset();
        changes.epoch.reset();
        ASSERT_TRUE(first.store->Commit(changes).ok());
      }
    };
    commit_to(20);
    NotingFollower follower;
    if (refused) follower.refusal = MakeStatus(absl::StatusCode::kInternal, "does not fit");
    follower.then = [&] {
      if (follower.preparations > 1) return;
      commit_to(40);
      follower.may_own = refused;
    };
    std::thread later([&] {
      // Waits until the earlier commits have been followed, or were refused.
      WaitUntil([&] {
        const MutexLock lock(follower.mutex);
        return follower.may_own || follower.updates > 0;
      });
      const MutexLock lock(follower.mutex);
      if (follower.may_own) return;
      commit_to(60);
      follower.may_own = true;
    });
    const Node second = Start(name + "-standby", kafka, &follower);
    later.join();
    ASSERT_TRUE(second.status.ok()) << second.status;
    EXPECT_EQ(follower.preparations, 1);
    EXPECT_EQ(follower.outdated, refused ? 1 : 0);
    ASSERT_EQ(follower.prepared.has_value(), !refused);
    EXPECT_GT(follower.updates, 0);
    if (refused) continue;
    StoreContents expected = script.After(60);
    const StatusOr<StoreContents> found = ReadContents(*second.store);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(follower.prepared->pages, found->pages);
    EXPECT_EQ(follower.prepared->hosts, found->hosts);
    EXPECT_EQ(found->pages, expected.pages);
  }
}

TEST_F(StoreOnKafkaTest, WhoCannotStandForItsTurnOpensNothing) {
  MockKafka kafka("mock", 1);
  NotingFollower follower;
  follower.then_fail = MakeStatus(absl::StatusCode::kUnavailable, "no group");
  const Node node = Start("db", kafka, &follower);
  EXPECT_EQ(node.status, follower.then_fail);
  EXPECT_EQ(follower.preparations, 0);
}

TEST_F(StoreOnKafkaTest, WhatWasPreparedStandsIfNothingCameSince) {
  MockKafka kafka("mock", 1);
  const Script script(10, 30);
  {
    const Node first = Start("db", kafka);
    ASSERT_TRUE(first.status.ok()) << first.status;
    for (const ScriptedCommit& commit : script.commits()) {
      ASSERT_TRUE(first.store->Commit(commit.changes).ok());
    }
  }
  NotingFollower follower;
  follower.then = [&] { follower.may_own = true; };
  const Node second = Start("standby", kafka, &follower);
  ASSERT_TRUE(second.status.ok()) << second.status;
  EXPECT_EQ(follower.preparations, 1);
  ASSERT_TRUE(follower.prepared.has_value());
  EXPECT_EQ(script.After(30).DifferenceFrom(*follower.prepared), "");
  EXPECT_EQ(follower.generation, second.store->generation());
  ExpectContents(*second.store, script.After(30));
}

TEST_F(StoreOnKafkaTest, AFencedStoreAcknowledgesNothingAndHealthSaysWhy) {
  MockKafka kafka("mock", 1);
  const Node node = Start("db", kafka);
  ASSERT_TRUE(node.status.ok()) << node.status;
  EXPECT_TRUE(node.store->health().ok());
  kafka.FailNext(MockKafka::kEndTxn, RD_KAFKA_RESP_ERR_PRODUCER_FENCED);
  const PageRecord page = random_.Page("host.example", 1, 1);
  const Status fenced = node.store->Commit(OnePage(page));
  EXPECT_TRUE(absl::IsUnavailable(fenced)) << fenced;
  EXPECT_EQ(node.store->Commit(OnePage(page)), fenced);
  EXPECT_EQ(node.store->health(), fenced);
  EXPECT_TRUE(absl::IsNotFound(node.store->ReadPages({&page.number, 1})[0].status()));
}

TEST_F(StoreOnKafkaTest, ACommitWhileKafkaIsAwayIsAcknowledgedOnceItIsBack) {
  MockKafka kafka("mock", 1);
  const Node node = Start("db", kafka);
  ASSERT_TRUE(node.status.ok()) << node.status;
  kafka.Down();
  const PageRecord page = random_.Page("host.example", 1, 1);
  auto waits = std::async(std::launch::async, [&] { return node.store->Commit(OnePage(page)); });
  EXPECT_EQ(waits.wait_for(std::chrono::milliseconds(700)), std::future_status::timeout);
  EXPECT_TRUE(absl::IsNotFound(node.store->ReadPages({&page.number, 1})[0].status()));
  kafka.Up();
  EXPECT_TRUE(waits.get().ok());
  EXPECT_EQ(*node.store->ReadPages({&page.number, 1})[0], page);
}

TEST_F(StoreOnKafkaTest, AStoreOfASingleServerIsNoCacheAndACacheNoStoreOfASingleServer) {
  MockKafka kafka("mock", 1);
  {
    const auto single = Store::Open(dir_ / "single", SmallStore());
    ASSERT_TRUE(single.ok());
    ASSERT_TRUE((*single)->SetShards(1).ok());
  }
  const Node node = Start("single", kafka);
  EXPECT_TRUE(absl::IsFailedPrecondition(node.status)) << node.status;
  EXPECT_THAT(std::string(node.status.message()), HasSubstr("store of a single server"));
  { EXPECT_TRUE(Start("db", kafka).status.ok()); }
  const Status alone = Store::Open(dir_ / "db", SmallStore()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(alone)) << alone;
  EXPECT_THAT(std::string(alone.message()), HasSubstr("server of a cluster"));
}

// The log has later rows, and removals of rows that the checkpoint still has.
TEST_F(StoreOnKafkaTest, ARestoredCheckpointTakesInWhatHasComeSince) {
  MockKafka kafka("mock", 1);
  const Script script(9, 60);
  const size_t half = script.commits().size() / 2;
  uint64_t generation = 0;
  {
    const Node node = Start("db", kafka);
    ASSERT_TRUE(node.status.ok()) << node.status;
    for (size_t i = 0; i < script.commits().size(); ++i) {
      ASSERT_TRUE(node.store->Commit(script.commits()[i].changes).ok());
      if (i + 1 == half) {
        ASSERT_TRUE(node.store->Checkpoint(dir_ / "copy").ok());
      }
    }
    generation = node.store->generation();
  }
  const StatusOr<VerifyReport> restored =
      storage::Restore(dir_ / "copy", dir_ / "restored", SmallStore());
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_TRUE(restored->ok()) << testing::PrintToString(restored->problems);
  {
    // The content is the same as in the cluster.
    StoreOptions alone = SmallStore();
    alone.alone = true;
    const StatusOr<std::unique_ptr<Store>> store = Store::Open(dir_ / "restored", alone);
    ASSERT_TRUE(store.ok()) << store.status();
    ExpectContents(**store, script.After(half));
  }
  const Node node = Start("restored", kafka);
  ASSERT_TRUE(node.status.ok()) << node.status;
  EXPECT_EQ(node.store->generation(), generation + 1) << "the log counts them";
  ExpectContents(*node.store, script.After(script.commits().size()));
  const Node lost = Start("lost", kafka);
  ASSERT_TRUE(lost.status.ok()) << lost.status;
  EXPECT_LT(node.log->Stats().rows_read, lost.log->Stats().rows_read * 3 / 4);
}

// If the log is lost or no longer wanted, the directory has all rows.
TEST_F(StoreOnKafkaTest, ACacheOrItsCheckpointBecomesTheStoreOfASingleServer) {
  MockKafka kafka("mock", 2);
  const Script script(9, 60);
  uint64_t generation = 0;
  {
    const Node node = Start("db", kafka);
    ASSERT_TRUE(node.status.ok()) << node.status;
    StoreOptions leaving = SmallStore();
    leaving.leave_log = true;
    const Status open = storage::Restore(dir_ / "db", dir_ / "early", leaving).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(open)) << open;
    ASSERT_TRUE(node.store->SetShards(2).ok());
    for (const ScriptedCommit& commit : script.commits()) {
      ASSERT_TRUE(node.store->Commit(commit.changes).ok());
    }
    ASSERT_TRUE(node.store->Checkpoint(dir_ / "copy").ok());
    generation = node.store->generation();
  }
  for (const std::string from : {"copy", "db"}) {
    SCOPED_TRACE(from);
    StoreOptions leaving = SmallStore();
    leaving.leave_log = true;
    const auto report = storage::Restore(dir_ / from, dir_ / "single", leaving);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->ok()) << testing::PrintToString(report->problems);
    {
      const auto single = Store::Open(dir_ / "single", SmallStore());
      ASSERT_TRUE(single.ok()) << single.status();
      EXPECT_GT((*single)->generation(), generation + storage::kSkippedGenerations);
      ExpectContents(**single, script.After(script.commits().size()));
      // The directory works like any store of a single server: it accepts changes, and a different
      // number of shards.
      const PageRecord page = random_.Page("another.example", 1, 1);
      EXPECT_TRUE((*single)->SetShards(3).ok());
      EXPECT_TRUE((*single)->Commit(OnePage(page)).ok());
    }
    EXPECT_TRUE(absl::IsFailedPrecondition(Start("single", kafka).status));
    const Status again = storage::Restore(dir_ / "single", dir_ / "again", leaving).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(again)) << again;
    std::filesystem::remove_all(dir_ / "single");
  }
  EXPECT_TRUE(Start("db", kafka).status.ok()) << "what it was made of is as it was";
}

// A cluster does not rely on the local disk, so rows at a torn end of the log might be missing. The
// torn end is cut off.
TEST_F(StoreOnKafkaTest, WhatIsTornInACacheIsCutAsItLeaves) {
  MockKafka kafka("mock", 1);
  const Node node = Start("db", kafka);
  ASSERT_TRUE(node.status.ok()) << node.status;
  for (uint32_t i = 1; i <= 40; ++i) {
    const PageRecord page = random_.Page("host.example", i, i);
    ASSERT_TRUE(node.store->Commit(OnePage(page)).ok());
  }
  // Makes a torn log, as after a power cut.
  std::filesystem::copy(dir_ / "db", dir_ / "torn", std::filesystem::copy_options::recursive);
  std::filesystem::path log;
  for (const auto& file : std::filesystem::directory_iterator(dir_ / "torn")) {
    if (file.path().extension() != ".log") continue;
    if (log.empty() || file.file_size() > std::filesystem::file_size(log)) log = file.path();
  }
  ASSERT_GT(std::filesystem::file_size(log), 2000U);
  {
    std::fstream bytes(log, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(std::filesystem::file_size(log) * 3 / 4));
    bytes.write("torn", 4);
  }
  StoreOptions options = SmallStore();
  const Status whole = storage::Restore(dir_ / "torn", dir_ / "whole", options).status();
  EXPECT_TRUE(absl::IsDataLoss(whole)) << whole;
  options.leave_log = true;
  const auto cut = storage::Restore(dir_ / "torn", dir_ / "single", options);
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_TRUE(cut->ok()) << testing::PrintToString(cut->problems);
  EXPECT_GT(cut->pages, 10U);
  EXPECT_LT(cut->pages, 40U);
}

// The rows that a repair saves might be a combination that the log never had.
TEST_F(StoreOnKafkaTest, ACacheIsNotRepaired) {
  MockKafka kafka("mock", 1);
  ASSERT_TRUE(Start("db", kafka).status.ok());
  const auto expect_refused = [&] {
    const Status status = storage::Repair(dir_ / "db", SmallStore()).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("of a server of a cluster"));
  };
  expect_refused();
  std::ofstream(dir_ / "db/CURRENT") << "nothing\n";
  expect_refused();
}

// A store that stops reading early might have current rows of one partition, and week-old rows of
// the others.
TEST_F(StoreOnKafkaTest, AStoreWhoseReadingWasBrokenOffIsAsOldAsBefore) {
  MockKafka kafka("mock", 1);
  ASSERT_TRUE(Start("db", kafka).status.ok());
  {
    const Node other = Start("other", kafka);
    ASSERT_TRUE(other.status.ok()) << other.status;
    for (uint64_t commit = 0; commit < 5; ++commit) {
      std::vector<PageRecord> pages;
      for (uint64_t i = 0; i < 1000; ++i) {
        const uint64_t number = 1000 * commit + i;
        pages.push_back(random_.Page("host.test", number, number + 1));
      }
      Changes changes;
      for (const PageRecord& page : pages) {
        changes.pages.push_back({.record = &page, .created = true});
      }
      ASSERT_TRUE(other.store->Commit(changes).ok());
    }
  }
  const auto start_on_day = [&](int day, std::optional<int> rows) {
    const StatusOr<std::unique_ptr<KafkaLog>> log = KafkaLog::Open(kafka.options());
    EXPECT_TRUE(log.ok()) << log.status();
    ShortLog truth(**log, rows.value_or(1'000'000));
    LaterEnv env(int64_t{day} * 86'400);
    StoreOptions options = SmallStore();
    options.truth = &truth;
    options.env = &env;
    return Store::Open(dir_ / "db", options).status();
  };
  const Status broken_off = start_on_day(5, 4500);
  EXPECT_TRUE(absl::IsCancelled(broken_off)) << broken_off;
  const Status old = start_on_day(7, std::nullopt);
  EXPECT_TRUE(absl::IsFailedPrecondition(old)) << old;
  EXPECT_TRUE(start_on_day(5, std::nullopt).ok());
  EXPECT_TRUE(start_on_day(10, std::nullopt).ok());
}

TEST_F(StoreOnKafkaTest, ACheckpointThatIsTooOldIsNotRestored) {
  MockKafka kafka("mock", 1);
  {
    const Node node = Start("db", kafka);
    ASSERT_TRUE(node.status.ok()) << node.status;
    ASSERT_TRUE(node.store->Checkpoint(dir_ / "copy").ok());
  }
  StoreOptions options = SmallStore();
  LaterEnv a_week(7 * 86'400);
  options.env = &a_week;
  const Status status = storage::Restore(dir_ / "copy", dir_ / "restored", options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("was last written 7 days ago"));
  LaterEnv five_days(5 * 86'400);
  options.env = &five_days;
  EXPECT_TRUE(storage::Restore(dir_ / "copy", dir_ / "restored", options).ok());
}

TEST_F(StoreOnKafkaTest, ACacheOfOneLogIsNoneOfAnother) {
  MockKafka kafka("mock", 1);
  { ASSERT_TRUE(Start("db", kafka).status.ok()); }
  MockKafka another("news-1-of-2", 1);
  const Node node = Start("db", another);
  EXPECT_TRUE(absl::IsFailedPrecondition(node.status)) << node.status;
  EXPECT_THAT(std::string(node.status.message()), HasSubstr("not of news-1-of-2.changes"));
  EXPECT_TRUE(Start("db", kafka).status.ok());
}

// If a topic is deleted, the next server that starts makes it again. The new topic can become
// longer than the part of the old one that other servers had read.
TEST_F(StoreOnKafkaTest, ACacheOfALogThatIsNoMoreIsRefusedHoweverLongTheNewOneIs) {
  MockKafka before("mock", 1);
  { ASSERT_TRUE(Start("db", before).status.ok()); }
  MockKafka anew("mock", 1);
  const auto refused = [&] {
    const Node node = Start("db", anew);
    EXPECT_TRUE(absl::IsFailedPrecondition(node.status)) << node.status;
    EXPECT_THAT(std::string(node.status.message()),
                HasSubstr("was built from another topic of the name mock.changes"));
  };
  refused();
  {
    const Node another = Start("elsewhere", anew);
    ASSERT_TRUE(another.status.ok()) << another.status;
    const Script script(7, 60);
    for (const ScriptedCommit& commit : script.commits()) {
      ASSERT_TRUE(another.store->Commit(commit.changes).ok());
    }
  }
  refused();
  EXPECT_TRUE(Start("db", before).status.ok());
}

TEST_F(StoreOnKafkaTest, ALogOfAnotherFormatIsRefused) {
  MockKafka kafka("mock", 1);
  {
    const auto log = KafkaLog::Open(kafka.options());
    ASSERT_TRUE(log.ok()) << log.status();
    ASSERT_TRUE((*log)->Own(0).ok());
    const std::string key = storage::MetaKeyOf(storage::MetaKey::kLogFormat, 0);
    std::string value;
    storage::EncodeNumber(key, storage::kFormatVersion + 1, &value);
    const LogRow row = {.family = storage::Family::kMeta, .key = key, .value = value};
    ASSERT_TRUE((*log)->Append(0, {&row, 1}).ok());
  }
  for (int tries = 0; tries < 2; ++tries) {
    const Node node = Start("db", kafka);
    EXPECT_TRUE(absl::IsFailedPrecondition(node.status)) << node.status;
    EXPECT_THAT(std::string(node.status.message()),
                HasSubstr(fmt::format("rows of format {}", storage::kFormatVersion + 1)));
  }
}

TEST_F(StoreOnKafkaTest, TheFirstOwnerOfALogSaysOnceOfWhatFormatItIs) {
  MockKafka kafka("mock", 2);
  { ASSERT_TRUE(Start("db", kafka).status.ok()); }
  { ASSERT_TRUE(Start("elsewhere", kafka).status.ok()); }
  const auto log = KafkaLog::Open(kafka.options());
  ASSERT_TRUE(log.ok()) << log.status();
  for (const uint16_t partition : {0, 1}) {
    const std::string format = storage::MetaKeyOf(storage::MetaKey::kLogFormat, partition);
    std::vector<std::string> keys;
    const auto end = (*log)->Read(partition, 0, std::nullopt, [&](const LogRow& row, uint64_t) {
      if (row.family == storage::Family::kMeta) keys.emplace_back(row.key);
      return absl::OkStatus();
    });
    ASSERT_TRUE(end.ok()) << end.status();
    ASSERT_GE(keys.size(), 2U);
    EXPECT_EQ(keys[0], format);
    EXPECT_EQ(keys[1], storage::MetaKeyOf(storage::MetaKey::kLogBirth, partition));
    EXPECT_EQ(std::count(keys.begin(), keys.end(), keys[0]), 1);
    EXPECT_EQ(std::count(keys.begin(), keys.end(), keys[1]), 1);
  }
}

TEST_F(StoreOnKafkaTest, TheNumberOfShardsIsThatOfPartitions) {
  MockKafka kafka("mock", 2);
  const Node node = Start("db", kafka);
  ASSERT_TRUE(node.status.ok()) << node.status;
  EXPECT_TRUE(node.store->SetShards(2).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(node.store->SetShards(3)));
}

TEST_F(StoreOnKafkaTest, StoresThatHaveReadTheSameLogHaveTheSameDigests) {
  MockKafka kafka("mock", 1);
  const auto digests = [this](const std::string& dir) {
    StoreOptions options = SmallStore();
    options.alone = true;
    const StatusOr<std::unique_ptr<Store>> store = Store::Open(dir_ / dir, options);
    EXPECT_TRUE(store.ok()) << store.status();
    const StatusOr<VerifyReport> report = (*store)->Verify();
    EXPECT_TRUE(report.ok()) << report.status();
    return report->digests;
  };
  uint64_t pages = 0;
  const auto serve = [&](const std::string& dir) {
    const Node node = Start(dir, kafka);
    ASSERT_TRUE(node.status.ok()) << node.status;
    ++pages;
    const PageRecord page = random_.Page("example.org", pages, pages);
    ASSERT_TRUE(node.store->Commit(OnePage(page)).ok());
  };
  const auto follow = [&](const std::string& dir) {
    PassingFollower follower;
    EXPECT_TRUE(absl::IsCancelled(Start(dir, kafka, &follower).status));
  };
  serve("one");
  follow("two");
  EXPECT_EQ(digests("one"), digests("two"));
  EXPECT_EQ(digests("one").size(), storage::kFamilies);
  EXPECT_EQ(digests("one")[storage::IndexOf(storage::Family::kPages)].rows, 1u);
  serve("one");
  EXPECT_NE(digests("one"), digests("two"));
  follow("two");
  EXPECT_EQ(digests("one"), digests("two"));
}

}  // namespace
}  // namespace freshet
