// Tests the order in which files of a database are moved and made durable.
#include "storage/internal/file_copy.h"

#include <rocksdb/env.h>

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace freshet::storage {
namespace {

using ::testing::ElementsAre;

// Records moves of files and syncs of directories, by their last names.
class RecordingEnv final : public rocksdb::EnvWrapper {
 public:
  RecordingEnv() : rocksdb::EnvWrapper(rocksdb::Env::Default()) {}

  rocksdb::Status RenameFile(const std::string& from, const std::string& to) override {
    steps.push_back("move " + LastOf(to));
    return target()->RenameFile(from, to);
  }
  rocksdb::Status NewDirectory(const std::string& name,
                               std::unique_ptr<rocksdb::Directory>* result) override {
    steps.push_back("sync " + LastOf(name));
    return target()->NewDirectory(name, result);
  }

  std::vector<std::string> steps;

 private:
  static std::string LastOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }
};

TEST(MoveDatabase, MakesTheOtherMovesDurableBeforeThatOfCurrent) {
  RecordingEnv env;
  const TempDir dir;
  const std::string from = dir / "from";
  ASSERT_TRUE(env.CreateDirIfMissing(from).ok());
  for (const char* name : {"CURRENT", "MANIFEST-000001", "000002.log"}) {
    ASSERT_TRUE(rocksdb::WriteStringToFile(&env, "x", from + "/" + name).ok());
  }
  env.steps.clear();
  ASSERT_TRUE(MoveDatabase(&env, from, dir / "to", /*current_last=*/true).ok());
  EXPECT_THAT(env.steps,
              ElementsAre("move 000002.log", "move MANIFEST-000001", "sync to", "move CURRENT",
                          "sync to", "sync from", "sync to", "sync from"));
  env.steps.clear();
  ASSERT_TRUE(MoveDatabase(&env, dir / "to", from, /*current_last=*/false).ok());
  EXPECT_THAT(env.steps, ElementsAre("move CURRENT", "sync from", "sync to", "move MANIFEST-000001",
                                     "move 000002.log", "sync from", "sync to"));
}

}  // namespace
}  // namespace freshet::storage
