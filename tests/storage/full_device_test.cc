// Tests a device that is full although it reports free space, because of a quota, reserved blocks,
// or another process that fills it. Writes wait for space and continue without a restart.
#include <filesystem>
#include <string>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "storage/store.h"
#include "tests/storage/small_store.h"
#include "tests/storage/store_model.h"
#include "tests/support/faulty_env.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

StoreOptions OnDevice(FaultyEnv& device) {
  StoreOptions options = SmallStore(device.env());
  options.write_buffer_bytes = 64 << 10;
  options.table_file_bytes = 64 << 10;
  options.background_jobs = 1;
  return options;
}

void Fill(FaultyEnv& device, uint64_t bytes) {
  device.SetFreeBytes(bytes);
  device.HideFreeBytes(true);
}

// A store without space tries again at each commit. Before each attempt the device gets a little
// more space, so it becomes full at every possible place.
TEST(FullDevice, IsSurvivedWhereItClaimsToHaveRoom) {
  const Script script(5, 8);
  for (uint64_t bytes = 0; bytes < 60'000; bytes += 4'637) {
    SCOPED_TRACE(fmt::format("{} bytes", bytes));
    TempDir dir;
    FaultyEnv device(bytes);
    auto store = Store::Open(dir / "db", OnDevice(device));
    ASSERT_TRUE(store.ok()) << store.status();
    Fill(device, bytes);
    size_t done = 0;
    Status status;
    for (; done < script.commits().size(); ++done) {
      status = (*store)->Commit(script.commits()[done].changes);
      if (!status.ok()) break;
    }
    for (uint64_t more = 0; !status.ok() && more < 8; ++more) {
      ASSERT_TRUE(absl::IsResourceExhausted(status)) << more << ": " << status;
      EXPECT_TRUE(absl::IsResourceExhausted((*store)->health())) << (*store)->health();
      EXPECT_EQ(ReadContents(**store)->DifferenceFrom(script.After(done)), "");
      Fill(device, more * 311);
      status = (*store)->Commit(script.commits()[done].changes);
      if (status.ok()) ++done;
    }
    device.ClearFaults();
    for (; done < script.commits().size(); ++done) {
      const Status resumed = (*store)->Commit(script.commits()[done].changes);
      ASSERT_TRUE(resumed.ok()) << resumed;
    }
    EXPECT_TRUE((*store)->health().ok());
    EXPECT_EQ(ReadContents(**store)->DifferenceFrom(script.After(done)), "");
    device.DieAt(1);
    *store = nullptr;
    device.Crash();
    store = Store::Open(dir / "db", OnDevice(device));
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ(ReadContents(**store)->DifferenceFrom(script.After(done)), "");
  }
}

// The device fills up again while the store checks for space.
TEST(FullDevice, IsFilledAgainBeforeWritingGoesOn) {
  const Script script(6, 5);
  for (uint64_t operation = 1; operation <= 12; ++operation) {
    SCOPED_TRACE(fmt::format("operation {}", operation));
    TempDir dir;
    FaultyEnv device(operation);
    auto store = Store::Open(dir / "db", OnDevice(device));
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->Commit(script.commits()[0].changes).ok());
    Fill(device, 100);
    ASSERT_TRUE(absl::IsResourceExhausted((*store)->Commit(script.commits()[1].changes)));
    size_t done = 1;
    for (int times = 0; times < 3; ++times) {
      device.ClearFaults();
      device.RunOutAt(operation);
      const Status status = (*store)->Commit(script.commits()[done].changes);
      if (status.ok() && ++done == script.commits().size()) break;
      EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
    }
    device.ClearFaults();
    for (; done < script.commits().size(); ++done) {
      const Status resumed = (*store)->Commit(script.commits()[done].changes);
      ASSERT_TRUE(resumed.ok()) << resumed;
    }
    EXPECT_TRUE((*store)->health().ok());
    device.DieAt(1);
    *store = nullptr;
    device.Crash();
    store = Store::Open(dir / "db", OnDevice(device));
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ(ReadContents(**store)->DifferenceFrom(script.After(done)), "");
  }
}

// To find out if there is space again, the store writes a probe file of the size of its memtables.
// If the file is still there at the next start, it must be removed.
TEST(FullDevice, TheFileThatLooksForRoomOutlivesNoStart) {
  const Script script(9, 2);
  TempDir dir;
  const std::string probe = dir / "db/FRESHET_PROBE";
  FaultyEnv device(1);
  auto store = Store::Open(dir / "db", OnDevice(device));
  ASSERT_TRUE(store.ok()) << store.status();
  Fill(device, 100);
  ASSERT_TRUE(absl::IsResourceExhausted((*store)->Commit(script.commits()[0].changes)));
  device.ClearFaults();
  device.DieAt(3);
  EXPECT_FALSE((*store)->Commit(script.commits()[0].changes).ok());
  *store = nullptr;
  device.ClearFaults();
  ASSERT_TRUE(std::filesystem::exists(probe));
  store = Store::Open(dir / "db", OnDevice(device));
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_FALSE(std::filesystem::exists(probe));
}

// There is no commit that could notice the lack of space.
TEST(FullDevice, ACompactionThatRunsOutOfSpaceIsSurvived) {
  const Script script(7, 8);
  TempDir dir;
  FaultyEnv device(1);
  auto store = Store::Open(dir / "db", OnDevice(device));
  ASSERT_TRUE(store.ok()) << store.status();
  for (size_t i = 0; i < 7; ++i) ASSERT_TRUE((*store)->Commit(script.commits()[i].changes).ok());
  Fill(device, 100);
  const Status compacted = (*store)->Compact();
  EXPECT_TRUE(absl::IsResourceExhausted(compacted)) << compacted;
  EXPECT_TRUE(absl::IsResourceExhausted((*store)->health())) << (*store)->health();
  EXPECT_TRUE(absl::IsResourceExhausted((*store)->TryResume()));
  device.ClearFaults();
  EXPECT_TRUE((*store)->TryResume().ok());
  EXPECT_TRUE((*store)->health().ok()) << (*store)->health();
  EXPECT_TRUE((*store)->Compact().ok());
  EXPECT_TRUE((*store)->Commit(script.commits()[7].changes).ok());
  EXPECT_EQ(ReadContents(**store)->DifferenceFrom(script.After(8)), "");
}

// If a quota is exceeded, the system says "Disk quota exceeded".
TEST(FullDevice, AQuotaIsALackOfSpace) {
  const Script script(8, 3);
  TempDir dir;
  FaultyEnv device(1);
  auto store = Store::Open(dir / "db", OnDevice(device));
  ASSERT_TRUE(store.ok()) << store.status();
  Fill(device, 100);
  device.SayQuota(true);
  const Status status = (*store)->Commit(script.commits()[0].changes);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  device.ClearFaults();
  EXPECT_TRUE((*store)->Commit(script.commits()[0].changes).ok());
}

}  // namespace
}  // namespace freshet
