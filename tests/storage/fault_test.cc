// The store over a machine that fails: what was acknowledged is there, what was not is wholly there
// or wholly absent, and nothing is acknowledged after a failure.
#include <set>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "storage/store.h"
#include "tests/storage/store_model.h"
#include "tests/support/faulty_env.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using testing::HasSubstr;

constexpr size_t kCommits = 14;
// Between these the script closes and opens the store, or makes it rewrite its tables.
constexpr size_t kReopenAfter = 5;
constexpr size_t kCompactAfter = 9;

StoreOptions Options(FaultyEnv& env, Durability durability = Durability::kSync) {
  StoreOptions options;
  options.durability = durability;
  options.write_buffer_bytes = 64 << 10;
  options.table_file_bytes = 64 << 10;
  options.block_cache_bytes = 1 << 20;
  options.background_jobs = 1;
  options.reserve_bytes = 0;
  options.env = env.env();
  return options;
}

// How far a run got: commits that were acknowledged, and whether one more was tried.
struct Progress {
  size_t acknowledged = 0;
  bool tried_one_more = false;
};

// Runs the script until something fails.
Progress RunScript(const Script& script, const std::string& dir, const StoreOptions& options) {
  Progress progress;
  auto store = Store::Open(dir, options);
  for (size_t i = 0; i < script.commits().size() && store.ok(); ++i) {
    if (i == kReopenAfter) {
      store = NotFound("closed");
      store = Store::Open(dir, options);
      if (!store.ok()) break;
    }
    if (i == kCompactAfter && !(*store)->Compact().ok()) break;
    progress.tried_one_more = true;
    if (!(*store)->Commit(script.commits()[i].changes).ok()) {
      // A failure is final, whatever is tried afterwards.
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

// The directory's store must open and hold the acknowledged commits, and of the next one nothing
// or, if it was tried, all.
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

uint64_t CountOperations(const Script& script) {
  TempDir dir;
  FaultyEnv env(1);
  EXPECT_EQ(RunScript(script, dir / "db", Options(env)).acknowledged, kCommits);
  return env.operations();
}

TEST(Fault, PowerCutAtEveryOperation) {
  const Script script(1, kCommits);
  const uint64_t operations = CountOperations(script);
  ASSERT_GT(operations, 100U);
  for (uint64_t k = 1; k <= operations; ++k) {
    SCOPED_TRACE(fmt::format("operation {} of {}", k, operations));
    TempDir dir;
    FaultyEnv env(k);
    env.DieAt(k);
    const Progress progress = RunScript(script, dir / "db", Options(env));
    env.Crash();
    ExpectIntact(script, progress, dir / "db", Options(env));
    if (testing::Test::HasFailure()) break;
  }
}

TEST(Fault, EveryOperationFailsOnce) {
  const Script script(2, kCommits);
  const uint64_t operations = CountOperations(script);
  for (uint64_t k = 1; k <= operations; ++k) {
    SCOPED_TRACE(fmt::format("operation {} of {}", k, operations));
    TempDir dir;
    FaultyEnv env(k);
    env.FailAt(k);
    const Progress progress = RunScript(script, dir / "db", Options(env));
    env.Crash();
    ExpectIntact(script, progress, dir / "db", Options(env));
    if (testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace freshet
