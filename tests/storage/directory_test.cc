#include "storage/directory.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rocksdb/env.h"
#include "storage/repair.h"
#include "storage/store.h"
#include "tests/storage/small_store.h"
#include "tests/support/temp_dir.h"

namespace freshet::storage {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(AbsolutePath, KeepsWhatIsAbsoluteAndPutsTheRestIntoTheWorkingDirectory) {
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(*AbsolutePath("/a/b"), "/a/b");
  EXPECT_EQ(*AbsolutePath("//a/./b//"), "/a/b");
  EXPECT_EQ(*AbsolutePath("/"), "/");
  EXPECT_EQ(*AbsolutePath("/a/../b"), "/a/../b") << "a may be a symbolic link";
  EXPECT_EQ(*AbsolutePath("c"), here + "/c");
  EXPECT_EQ(*AbsolutePath("./data/b"), here + "/data/b");
  EXPECT_EQ(*AbsolutePath("data/a/"), here + "/data/a");
  EXPECT_EQ(*AbsolutePath("../x"), here + "/../x");
  EXPECT_EQ(*AbsolutePath("."), here);
  EXPECT_EQ(*AbsolutePath(""), here);
}

// What the system says when the lock is asked for. Thread-compatible.
class NoLockEnv final : public rocksdb::EnvWrapper {
 public:
  explicit NoLockEnv(rocksdb::Status status)
      : EnvWrapper(rocksdb::Env::Default()), status_(std::move(status)) {}
  rocksdb::Status LockFile(const std::string&, rocksdb::FileLock**) override { return status_; }

 private:
  const rocksdb::Status status_;
};

TEST(LockDirectory, SaysWhatIsWrong) {
  struct {
    const char* text;
    absl::StatusCode code;
    const char* says;
  } const cases[] = {
      {"While lock file: /d/FRESHET_LOCK: Resource temporarily unavailable",
       absl::StatusCode::kFailedPrecondition, "is in use by another process"},
      {"lock hold by current process, acquire time 1 acquiring thread 2: /d: No locks available",
       absl::StatusCode::kFailedPrecondition, "is in use by this process"},
      {"while open a file for lock: /d/FRESHET_LOCK: Permission denied",
       absl::StatusCode::kPermissionDenied, "no permission to write in "},
      {"while open a file for lock: /d/FRESHET_LOCK: Read-only file system",
       absl::StatusCode::kUnavailable, "Read-only file system"},
      {"while open a file for lock: /d/FRESHET_LOCK: Too many open files",
       absl::StatusCode::kUnavailable, "Too many open files"},
  };
  const TempDir dir;
  for (const auto& [text, code, says] : cases) {
    NoLockEnv env(rocksdb::Status::IOError(text));
    rocksdb::FileLock* lock = nullptr;
    const Status status = LockDirectory(&env, dir.path(), &lock);
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(says));
    if (code != absl::StatusCode::kFailedPrecondition) {
      EXPECT_THAT(std::string(status.message()), Not(HasSubstr("in use")));
    }
    EXPECT_EQ(lock, nullptr);
    EXPECT_EQ(Store::Open(dir / "db", SmallStore(&env)).status().code(), code);
  }
}

TEST(LockDirectory, RepairSaysTheSame) {
  const TempDir dir;
  EXPECT_TRUE((*Store::Open(dir / "db", SmallStore()))->Close().ok());
  NoLockEnv env(rocksdb::Status::IOError("while open a file for lock: x: Permission denied"));
  const Status status = Repair(dir / "db", SmallStore(&env)).status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
}

TEST(LockDirectory, TwoStoresOfOneProcessDoNotShareADirectory) {
  const TempDir dir;
  const auto store = Store::Open(dir / "db", SmallStore());
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_THAT(std::string(Store::Open(dir / "db", SmallStore()).status().message()),
              HasSubstr("in use by this process"));
}

}  // namespace
}  // namespace freshet::storage
