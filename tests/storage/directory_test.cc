#include "storage/directory.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

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

// If root runs the test, the checks run as another user, because root may read everything.
TEST(CheckDirectory, TellsWhatIsNotThereFromWhatMayNotBeRead) {
  const TempDir dir;
  const std::string store = dir / "closed/store";
  std::filesystem::create_directories(store);
  std::ofstream(dir / "file") << "x";
  EXPECT_EQ(CheckDirectory(store), absl::OkStatus());
  EXPECT_TRUE(absl::IsNotFound(CheckDirectory(dir / "closed/none")));
  EXPECT_EQ(CheckDirectory(dir / "file").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(CheckDirectory(dir / "file/store").code(), absl::StatusCode::kUnavailable);
  std::filesystem::permissions(dir.path(), std::filesystem::perms(0755));
  const bool root = geteuid() == 0;
  const auto look = [&](const std::string& path, int mode) {
    std::filesystem::permissions(path, std::filesystem::perms(mode));
    if (root) EXPECT_EQ(seteuid(65534), 0);
    Status status = CheckDirectory(store);
    if (root) EXPECT_EQ(seteuid(0), 0);
    return status;
  };
  const Status unreadable = look(store, 0300);
  EXPECT_TRUE(absl::IsPermissionDenied(unreadable));
  EXPECT_THAT(std::string(unreadable.message()), HasSubstr("has no permission to read it"));
  const Status closed = look(dir / "closed", 0600);
  EXPECT_TRUE(absl::IsPermissionDenied(closed));
  EXPECT_THAT(std::string(closed.message()),
              HasSubstr("has no permission to enter " + (dir / "closed")));
  std::filesystem::permissions(dir / "closed", std::filesystem::perms(0700));
}

// Returns a chosen status when the lock is requested. Thread-compatible.
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
