// Tests the store on a machine that fails. Acknowledged commits must be there afterwards. Each
// other commit must be there as a whole or not at all. After a failure, no commit is acknowledged.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rocksdb/env.h"
#include "storage/frontier_store.h"
#include "storage/frontier_verify.h"
#include "storage/store.h"
#include "tests/storage/seen_frontier.h"
#include "tests/storage/small_store.h"
#include "tests/storage/store_model.h"
#include "tests/storage/store_with_frontier.h"
#include "tests/support/faulty_env.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using testing::HasSubstr;

constexpr size_t kFaultyCommits = 5;
// After these numbers of commits, the script reopens the store, copies it, or makes it rewrite its
// tables.
constexpr size_t kReopenAfter = 2;
constexpr size_t kCheckpointAfter = 3;
constexpr size_t kCompactAfter = 4;

// Returns the number of scripts. Each script runs once for each of its operations, with a fault at
// this operation. FRESHET_FAULT_SCRIPTS raises the number; the default suite has time for only one
// script.
uint64_t Scripts() {
  const char* const asked = std::getenv("FRESHET_FAULT_SCRIPTS");
  return asked == nullptr ? 1 : std::stoull(asked);
}

StoreOptions FaultyStore(FaultyEnv& env, Durability durability = Durability::kSync) {
  StoreOptions options = SmallStore(env.env());
  options.durability = durability;
  options.write_buffer_bytes = 64 << 10;
  options.table_file_bytes = 64 << 10;
  options.background_jobs = 1;
  return options;
}

// How far a run got: the number of acknowledged commits, and whether it tried another commit.
struct Progress {
  size_t acknowledged = 0;
  bool tried_one_more = false;
  bool checkpointed = false;
};

std::string CopyOf(const std::string& dir) { return dir + "-copy"; }

// Runs the script's commits [first, end) until one fails.
Progress RunScript(const Script& script, size_t first, size_t end, const std::string& dir,
                   const StoreOptions& options) {
  Progress progress{.acknowledged = first};
  auto store = Store::Open(dir, options);
  for (size_t i = first; i < end && store.ok(); ++i) {
    if (i == kReopenAfter) {
      store = NotFound("closed");
      store = Store::Open(dir, options);
      if (!store.ok()) break;
    }
    if (i == kCheckpointAfter) progress.checkpointed = (*store)->Checkpoint(CopyOf(dir)).ok();
    if (i == kCompactAfter && !(*store)->Compact().ok()) break;
    progress.tried_one_more = true;
    if (!(*store)->Commit(script.commits()[i].changes).ok()) {
      // A failure is final, so another commit fails, too.
      const Status again = (*store)->Commit(script.commits()[i].changes);
      EXPECT_FALSE(again.ok());
      EXPECT_EQ(again, (*store)->health());
      break;
    }
    progress.tried_one_more = false;
    ++progress.acknowledged;
  }
  return progress;
}

// Expects that the store in `dir` opens and has all acknowledged commits. The next commit is there
// as a whole or not at all, and only if it was tried.
void ExpectIntact(const Script& script, const Progress& progress, const std::string& dir,
                  const StoreOptions& options) {
  const auto store = Store::Open(dir, options);
  ASSERT_TRUE(store.ok()) << store.status();
  const auto contents = ReadContents(**store);
  ASSERT_TRUE(contents.ok()) << contents.status();
  const auto report = (*store)->Verify();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->ok()) << testing::PrintToString(report->problems);
  if (progress.tried_one_more && *contents == script.After(progress.acknowledged + 1)) return;
  EXPECT_EQ(contents->DifferenceFrom(script.After(progress.acknowledged)), "")
      << progress.acknowledged << " acknowledged";
}

// A finished checkpoint stays intact, whatever happened afterwards.
void ExpectCheckpoint(const Script& script, const Progress& progress, const std::string& dir,
                      const StoreOptions& options) {
  if (!progress.checkpointed) return;
  ExpectIntact(script, {.acknowledged = kCheckpointAfter}, CopyOf(dir), options);
}

// To keep each test short, a test with the remainder `rest` causes faults only at operations whose
// number is `rest` modulo kTurns.
constexpr uint64_t kTurns = 3;

// Runs a script again and again, each time with a fault at another operation. Creating the store
// takes as many operations as the rest of the script, so it is tested separately. The rest starts
// from a copy of a created store.
class StrikeInTurn {
 public:
  using Inject = std::function<void(FaultyEnv& env, uint64_t operation)>;

  StrikeInTurn(uint64_t seed, uint64_t rest, Inject inject)
      : script_(seed, kFaultyCommits), rest_(rest), inject_(std::move(inject)) {
    FaultyEnv env(seed);
    EXPECT_EQ(RunScript(script_, 0, 1, created_ / "db", FaultyStore(env)).acknowledged, 1U);
  }

  void OfCreating() {
    const uint64_t operations = RunPart(0, 1);
    EXPECT_GT(operations, 50U);
  }
  void OfFilling() {
    const uint64_t operations = RunPart(1, kFaultyCommits);
    EXPECT_GT(operations, 100U);
  }

 private:
  // Returns the number of operations of commits [first, end), rounded up by at most kTurns - 1.
  uint64_t RunPart(size_t first, size_t end) {
    for (uint64_t k = rest_ + 1; !testing::Test::HasFailure(); k += kTurns) {
      SCOPED_TRACE(fmt::format("commits {} to {}, operation {}", first, end, k));
      const TempDir dir;
      FaultyEnv env(k);
      if (first > 0) std::filesystem::copy(created_ / "db", dir / "db");
      inject_(env, k);
      const Progress progress = RunScript(script_, first, end, dir / "db", FaultyStore(env));
      const bool fired = env.fired();
      env.Crash();
      ExpectIntact(script_, progress, dir / "db", FaultyStore(env));
      ExpectCheckpoint(script_, progress, dir / "db", FaultyStore(env));
      if (!fired) return k - 1;
    }
    return 0;
  }

  const Script script_;
  const uint64_t rest_;
  const Inject inject_;
  const TempDir created_;
};

void CutPower(FaultyEnv& env, uint64_t operation) { env.DieAt(operation); }
void FailOnce(FaultyEnv& env, uint64_t operation) { env.FailAt(operation); }

// The test parameter is a remainder modulo kTurns. With all remainders together, the tests cause a
// fault at every operation.
class FaultAtEveryOperation : public testing::TestWithParam<uint64_t> {
 protected:
  static void Each(uint64_t first_seed, const std::function<void(uint64_t seed)>& run) {
    for (uint64_t i = 0; i < Scripts(); ++i) run(first_seed + i);
  }
};

TEST_P(FaultAtEveryOperation, APowerCutWhileCreatingLosesNothingAcknowledged) {
  Each(1, [](uint64_t seed) { StrikeInTurn(seed, GetParam(), CutPower).OfCreating(); });
}

TEST_P(FaultAtEveryOperation, APowerCutWhileFillingLosesNothingAcknowledged) {
  Each(1, [](uint64_t seed) { StrikeInTurn(seed, GetParam(), CutPower).OfFilling(); });
}

TEST_P(FaultAtEveryOperation, AFailureWhileCreatingLosesNothingAcknowledged) {
  Each(1001, [](uint64_t seed) { StrikeInTurn(seed, GetParam(), FailOnce).OfCreating(); });
}

TEST_P(FaultAtEveryOperation, AFailureWhileFillingLosesNothingAcknowledged) {
  Each(1001, [](uint64_t seed) { StrikeInTurn(seed, GetParam(), FailOnce).OfFilling(); });
}

INSTANTIATE_TEST_SUITE_P(Turns, FaultAtEveryOperation, testing::Range(uint64_t{0}, kTurns));

TEST(Fault, AFailedLogSyncEndsWriting) {
  const Script script(3, 6);
  TempDir dir;
  FaultyEnv env(1);
  auto store = Store::Open(dir / "db", FaultyStore(env));
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->Commit(script.commits()[0].changes).ok());
  env.FailLogSyncAt(1);
  const Status failed = (*store)->Commit(script.commits()[1].changes);
  EXPECT_TRUE(absl::IsUnavailable(failed)) << failed;
  EXPECT_THAT(std::string(failed.message()), HasSubstr("injected"));
  env.ClearFaults();
  // The device works again, but its content is unknown.
  EXPECT_EQ((*store)->Commit(script.commits()[1].changes), failed);
  EXPECT_EQ((*store)->health(), failed);
  EXPECT_EQ((*store)->SetShards(2), failed);
  // Reads still work and show only acknowledged rows.
  EXPECT_EQ(ReadContents(**store)->DifferenceFrom(script.After(1)), "");
  *store = nullptr;
  env.Crash();
  ExpectIntact(script, {.acknowledged = 1, .tried_one_more = true}, dir / "db", FaultyStore(env));
}

TEST(Fault, AFailedLogAppendEndsWriting) {
  const Script script(4, 6);
  TempDir dir;
  FaultyEnv env(1);
  auto store = Store::Open(dir / "db", FaultyStore(env));
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->Commit(script.commits()[0].changes).ok());
  env.FailLogAppendAt(1);
  const Status failed = (*store)->Commit(script.commits()[1].changes);
  EXPECT_TRUE(absl::IsUnavailable(failed)) << failed;
  EXPECT_EQ((*store)->Commit(script.commits()[1].changes), failed);
  *store = nullptr;
  env.Crash();
  ExpectIntact(script, {.acknowledged = 1, .tried_one_more = true}, dir / "db", FaultyStore(env));
}

// The device runs out of space after various numbers of bytes, and later has space again.
TEST(Fault, AFullDeviceIsSurvived) {
  const Script script(5, 8);
  for (uint64_t bytes = 0; bytes < 40'000; bytes += 1'237) {
    SCOPED_TRACE(fmt::format("{} bytes", bytes));
    TempDir dir;
    FaultyEnv env(bytes);
    auto store = Store::Open(dir / "db", FaultyStore(env));
    ASSERT_TRUE(store.ok()) << store.status();
    env.SetFreeBytes(bytes);
    size_t done = 0;
    Status status;
    while (done < script.commits().size()) {
      status = (*store)->Commit(script.commits()[done].changes);
      if (!status.ok()) break;
      ++done;
    }
    if (!status.ok()) {
      EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
      EXPECT_TRUE(absl::IsResourceExhausted((*store)->health())) << (*store)->health();
      EXPECT_TRUE(absl::IsResourceExhausted((*store)->Commit(script.commits()[done].changes)));
      EXPECT_EQ(ReadContents(**store)->DifferenceFrom(script.After(done)), "");
      EXPECT_GE((*store)->Stats().refused_commits, 1U);
      // In half of the runs, the power fails while the device is full. In the other runs, space
      // becomes free.
      if (bytes % 2 == 0) {
        *store = nullptr;
        env.Crash();
        ExpectIntact(script, {.acknowledged = done, .tried_one_more = true}, dir / "db",
                     FaultyStore(env));
        continue;
      }
      env.ClearFaults();
      // Half of the remaining runs call TryResume(). In the others, the store notices the space at
      // its next commit.
      if (bytes % 4 == 1) {
        EXPECT_TRUE((*store)->TryResume().ok());
        EXPECT_TRUE((*store)->health().ok());
      }
    }
    for (; done < script.commits().size(); ++done) {
      const Status resumed = (*store)->Commit(script.commits()[done].changes);
      ASSERT_TRUE(resumed.ok()) << resumed;
    }
    EXPECT_TRUE((*store)->health().ok());
    EXPECT_EQ(ReadContents(**store)->DifferenceFrom(script.After(done)), "");
    env.DieAt(1);
    *store = nullptr;
    env.Crash();
    ExpectIntact(script, {.acknowledged = done, .tried_one_more = false}, dir / "db",
                 FaultyStore(env));
  }
}

TEST(Fault, APowerCutWhileAFullDiskRecoversLosesNothingAcknowledged) {
  const Script script(10, 4);
  for (uint64_t k = 1; k <= 60; ++k) {
    SCOPED_TRACE(fmt::format("operation {}", k));
    TempDir dir;
    FaultyEnv env(k);
    auto store = Store::Open(dir / "db", FaultyStore(env));
    ASSERT_TRUE(store.ok()) << store.status();
    size_t done = 0;
    while (done < 2 && (*store)->Commit(script.commits()[done].changes).ok()) ++done;
    env.SetFreeBytes(k * 7);
    ASSERT_TRUE(absl::IsResourceExhausted((*store)->Commit(script.commits()[done].changes)));
    env.ClearFaults();
    env.DieAt(k);
    while (done < 4 && (*store)->Commit(script.commits()[done].changes).ok()) ++done;
    *store = nullptr;
    const bool died = env.fired();
    env.Crash();
    ExpectIntact(script, {.acknowledged = done, .tried_one_more = done < 4}, dir / "db",
                 FaultyStore(env));
    if (!died) break;
  }
}

TEST(Fault, AReserveIsKeptFree) {
  const Script script(6, 2);
  TempDir dir;
  FaultyEnv env(1);
  StoreOptions options = FaultyStore(env);
  options.reserve_bytes = 1 << 20;
  auto store = Store::Open(dir / "db", options);
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->Commit(script.commits()[0].changes).ok());
  env.SetFreeBytes((1 << 20) - 1);
  // RocksDB still does background work after opening.
  uint64_t before = env.operations();
  for (int quiet = 0; quiet < 10; ++quiet) {
    LetPass(Duration::Millis(50));
    if (std::exchange(before, env.operations()) != before) quiet = 0;
  }
  const Status refused = (*store)->Commit(script.commits()[1].changes);
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("reserve"));
  EXPECT_EQ(env.operations(), before);
  EXPECT_TRUE(absl::IsResourceExhausted((*store)->health()));
  env.ClearFaults();
  EXPECT_TRUE((*store)->Commit(script.commits()[1].changes).ok());
  EXPECT_TRUE((*store)->health().ok());
}

// Without sync, a power failure can lose the newest commits, but never a part of a commit, or a
// commit before one that is kept.
TEST(Fault, WithoutSyncAPrefixSurvives) {
  const Script script(7, kFaultyCommits);
  for (const Durability durability : {Durability::kWal, Durability::kNone}) {
    for (uint64_t k = 2; k <= 120; k += 9) {
      SCOPED_TRACE(fmt::format("{}, operation {}", DurabilityName(durability), k));
      TempDir dir;
      FaultyEnv env(k);
      {
        auto store = Store::Open(dir / "db", FaultyStore(env, durability));
        ASSERT_TRUE(store.ok()) << store.status();
        env.DieAt(k);
        for (size_t i = 0; i < kFaultyCommits; ++i) {
          if (i == kCompactAfter && !(*store)->Compact().ok()) break;
          if (!(*store)->Commit(script.commits()[i].changes).ok()) break;
        }
        if (!env.fired()) env.DieAt(1);
      }
      env.Crash();
      const auto store = Store::Open(dir / "db", FaultyStore(env, durability));
      ASSERT_TRUE(store.ok()) << store.status();
      EXPECT_EQ((*store)->generation(), 2U);
      const auto contents = ReadContents(**store);
      ASSERT_TRUE(contents.ok()) << contents.status();
      bool prefix = false;
      for (size_t n = 0; n <= kFaultyCommits; ++n) prefix |= *contents == script.After(n);
      EXPECT_TRUE(prefix);
    }
  }
}

TEST(Fault, AProcessThatDiesLosesNothingWithoutSync) {
  const Script script(8, kFaultyCommits);
  TempDir dir;
  FaultyEnv env(1);
  {
    auto store = Store::Open(dir / "db", FaultyStore(env, Durability::kWal));
    ASSERT_TRUE(store.ok()) << store.status();
    for (const ScriptedCommit& commit : script.commits()) {
      ASSERT_TRUE((*store)->Commit(commit.changes).ok());
    }
    EXPECT_LE((*store)->Stats().syncs, 3U);
    env.DieAt(1);
  }
  // The process dies, but the machine keeps running, so all written bytes survive.
  env.ClearFaults();
  ExpectIntact(script, {.acknowledged = kFaultyCommits, .tried_one_more = false}, dir / "db",
               FaultyStore(env, Durability::kWal));
}

// By this clock, each sync of a log takes the time that a test sets. Thread-safe.
class SlowEnv : public rocksdb::EnvWrapper {
 public:
  explicit SlowEnv(FaultyEnv& disk) : EnvWrapper(disk.env()), disk_(disk) {}
  ~SlowEnv() override { disk_.OnLogSync({}); }
  [[nodiscard]] const char* Name() const override { return "SlowEnv"; }
  uint64_t NowNanos() override { return target()->NowNanos() + late_; }
  void SyncsTake(std::chrono::nanoseconds time) {
    disk_.OnLogSync([this, time] { late_ += static_cast<uint64_t>(time.count()); });
  }

 private:
  FaultyEnv& disk_;
  std::atomic<uint64_t> late_ = 0;
};

size_t TablesIn(const std::string& dir) {
  const std::filesystem::directory_iterator files(dir);
  return static_cast<size_t>(std::count_if(begin(files), end(files), [](const auto& file) {
    return file.path().extension() == ".sst";
  }));
}

// On a slow disk, writing tables takes tens of syncs, which would delay the end of a server.
TEST(Fault, AnEndWritesTablesWhereTheDiskIsFastEnough) {
  const Script script(3, kFaultyCommits);
  for (const Durability durability : {Durability::kSync, Durability::kWal, Durability::kNone}) {
    for (const bool slow : {false, true}) {
      SCOPED_TRACE(fmt::format("{}{}", DurabilityName(durability), slow ? ", slow" : ""));
      TempDir dir;
      FaultyEnv disk(1);
      SlowEnv env(disk);
      StoreOptions options = FaultyStore(disk, durability);
      options.write_buffer_bytes = 4 << 20;
      options.env = &env;
      {
        const auto store = Store::Open(dir / "db", options);
        ASSERT_TRUE(store.ok()) << store.status();
        for (const ScriptedCommit& commit : script.commits()) {
          ASSERT_TRUE((*store)->Commit(commit.changes).ok());
        }
        if (slow) env.SyncsTake(std::chrono::seconds(2));
        const size_t before = TablesIn(dir / "db");
        EXPECT_TRUE((*store)->Close().ok());
        const bool written = !slow || durability == Durability::kNone;
        EXPECT_EQ(TablesIn(dir / "db") > before, written);
        env.SyncsTake(std::chrono::seconds(0));
      }
      // A clean close loses nothing, even if the power fails afterwards.
      disk.Crash();
      ExpectIntact(script, {.acknowledged = kFaultyCommits, .tried_one_more = false}, dir / "db",
                   options);
    }
  }
}

// Returns all rows of the frontier, as text.
std::vector<std::string> FrontierIn(const std::string& dir, const StoreOptions& options) {
  const auto opened = StoreWithFrontier::Open(dir, options);
  if (opened.store == nullptr) return {};
  SeenFrontier seen;
  EXPECT_TRUE(opened.frontier->Load(seen).ok());
  const auto report = VerifyFrontier(*opened.store);
  EXPECT_TRUE(report.ok() && report->ok());
  seen.lines.push_back(fmt::format("{} URLs", report->urls));
  EXPECT_FALSE(std::filesystem::exists(FrontierDirectory(dir)));
  return seen.lines;
}

// Before format 5, a server had a separate database for the frontier.
TEST(Fault, AFrontierIsMovedIntoTheStoreWhateverInterruptsIt) {
  const std::filesystem::path old = FRESHET_SOURCE_DIR "/tests/golden/release-0.1.0/store";
  const auto copy_to = [&](const TempDir& dir) {
    std::filesystem::copy(old, dir / "db", std::filesystem::copy_options::recursive);
  };
  const TempDir whole;
  copy_to(whole);
  const std::vector<std::string> expected = FrontierIn(whole / "db", SmallStore());
  EXPECT_EQ(expected.back(), "10 URLs");
  bool fired = true;
  for (uint64_t k = 1; fired && !testing::Test::HasFailure(); k += 5) {
    for (const bool dies : {true, false}) {
      SCOPED_TRACE(fmt::format("operation {}{}", k, dies ? "" : " fails"));
      const TempDir dir;
      FaultyEnv env(k);
      copy_to(dir);
      dies ? env.DieAt(k) : env.FailAt(k);
      (void)Store::Open(dir / "db", FaultyStore(env));
      fired = env.fired();
      env.Crash();
      EXPECT_EQ(FrontierIn(dir / "db", FaultyStore(env)), expected);
    }
  }
}

TEST(Fault, OneSyncServesAllThatWait) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 20;
  TempDir dir;
  FaultyEnv env(1);
  // A sync takes about as long as on a fast disk, so that the other threads begin to wait.
  env.OnLogSync([] { LetPass(Duration::Millis(3)); });
  auto store = Store::Open(dir / "db", FaultyStore(env));
  ASSERT_TRUE(store.ok()) << store.status();
  const uint64_t syncs_before = env.log_syncs();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      RandomRecords random(static_cast<uint64_t>(t));
      for (int i = 0; i < kRounds; ++i) {
        Changes changes;
        changes.hosts.push_back(random.Host(fmt::format("host{}-{}.example", t, i)));
        EXPECT_TRUE((*store)->Commit(changes).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const uint64_t syncs = env.log_syncs() - syncs_before;
  EXPECT_EQ((*store)->Stats().commits, uint64_t{kThreads} * kRounds);
  // Ideally, a round takes two syncs: one for the first thread, and one for all other threads.
  EXPECT_LE(syncs, uint64_t{kThreads} * kRounds / 2);
  *store = nullptr;
  env.Crash();
  store = Store::Open(dir / "db", FaultyStore(env));
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(ReadContents(**store)->hosts.size(), size_t{kThreads} * kRounds);
}

TEST(Fault, ACheckpointTakenDuringWritesIsAPrefix) {
  const Script script(9, 40);
  TempDir dir;
  FaultyEnv env(1);
  auto store = Store::Open(dir / "db", FaultyStore(env));
  ASSERT_TRUE(store.ok()) << store.status();
  std::atomic<size_t> acknowledged = 0;
  std::thread writer([&] {
    for (const ScriptedCommit& commit : script.commits()) {
      EXPECT_TRUE((*store)->Commit(commit.changes).ok());
      ++acknowledged;
    }
  });
  std::vector<std::pair<size_t, size_t>> bounds;  // acknowledged commits before and after
  for (int i = 0; i < 4; ++i) {
    const size_t before = acknowledged;
    EXPECT_TRUE((*store)->Checkpoint(dir / fmt::format("copy{}", i)).ok());
    bounds.emplace_back(before, acknowledged + 1);
  }
  writer.join();
  *store = nullptr;
  env.Crash();  // a finished checkpoint is durable
  for (size_t i = 0; i < bounds.size(); ++i) {
    SCOPED_TRACE(i);
    const auto copy = Store::Open(dir / fmt::format("copy{}", i), FaultyStore(env));
    ASSERT_TRUE(copy.ok()) << copy.status();
    EXPECT_EQ((*copy)->generation(), 2U);  // as in the checkpoint
    const auto contents = ReadContents(**copy);
    ASSERT_TRUE(contents.ok()) << contents.status();
    const auto report = (*copy)->Verify();
    EXPECT_TRUE(report.ok() && report->ok());
    bool found = false;
    for (size_t n = bounds[i].first; n <= std::min<size_t>(bounds[i].second, 40); ++n) {
      found |= *contents == script.After(n);
    }
    EXPECT_TRUE(found) << bounds[i].first << " to " << bounds[i].second << ": "
                       << contents->DifferenceFrom(
                              script.After(std::min<size_t>(bounds[i].second, 40)));
  }
}

}  // namespace
}  // namespace freshet
