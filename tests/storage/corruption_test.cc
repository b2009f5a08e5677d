// Tests that damaged files are found, are reported with file and position, and are never served.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "storage/store.h"
#include "tests/storage/small_store.h"
#include "tests/storage/store_model.h"
#include "tests/support/flip_bit.h"
#include "tests/support/properties_byte.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr size_t kCorruptCommits = 10;

StoreOptions LittleCache() {
  StoreOptions options = SmallStore();
  options.block_cache_bytes = 64 << 10;
  return options;
}

// A closed store with all its rows in table files.
class CorruptionTest : public testing::Test {
 protected:
  CorruptionTest() : script_(3, kCorruptCommits) {
    auto store = Store::Open(dir_ / "db", LittleCache());
    EXPECT_TRUE(store.ok()) << store.status();
    for (const ScriptedCommit& commit : script_.commits()) {
      EXPECT_TRUE((*store)->Commit(commit.changes).ok());
    }
    EXPECT_TRUE((*store)->Compact().ok());
    EXPECT_TRUE((*store)->Close().ok());
    for (const auto& entry : std::filesystem::directory_iterator(dir_ / "db")) {
      files_.push_back(entry.path());
    }
    std::sort(files_.begin(), files_.end());
  }

  // Makes a copy of the database with one flipped bit in one file.
  std::string CopyWithFlip(const std::filesystem::path& file, size_t at, int bit) {
    const std::filesystem::path copy = dir_ / "copy";
    std::filesystem::remove_all(copy);
    std::filesystem::copy(dir_ / "db", copy);
    FlipBit(copy / file.filename(), at, bit);
    return copy;
  }

  // Expects that the store serves nothing wrong, and reports the damage unless all rows are right.
  void ExpectFoundOrHarmless(const std::string& dir, const std::string& name, bool must_be_found) {
    const auto store = Store::Open(dir, LittleCache());
    if (!store.ok()) {
      EXPECT_TRUE(absl::IsDataLoss(store.status())) << store.status();
      return;
    }
    const auto contents = ReadContents(**store);
    if (contents.ok()) {
      EXPECT_EQ(contents->DifferenceFrom(script_.After(kCorruptCommits)), "");
    } else {
      EXPECT_TRUE(absl::IsDataLoss(contents.status())) << contents.status();
    }
    const auto report = (*store)->Verify();
    ASSERT_TRUE(report.ok()) << report.status();
    if (must_be_found) {
      EXPECT_FALSE(report->ok());
      EXPECT_THAT(testing::PrintToString(report->problems), HasSubstr(name));
    }
    if (!contents.ok()) {
      EXPECT_FALSE(report->ok());
    }
  }

  TempDir dir_;
  Script script_;
  std::vector<std::filesystem::path> files_;
};

TEST_F(CorruptionTest, AFlippedBitInATableIsFound) {
  RandomRecords random(1);
  int flips = 0;
  for (const std::filesystem::path& file : files_) {
    if (file.extension() != ".sst") continue;
    const size_t size = std::filesystem::file_size(file);
    for (int i = 0; i < 12; ++i) {
      const size_t at = random.Below(size);
      const int bit = static_cast<int>(random.Below(8));
      SCOPED_TRACE(
          fmt::format("{} offset {} of {} bit {}", file.filename().string(), at, size, bit));
      ExpectFoundOrHarmless(CopyWithFlip(file, at, bit), file.filename(), true);
      ++flips;
    }
  }
  EXPECT_GE(flips, 5 * 12);
}

// RocksDB reads this block before it verifies the checksum, and makes assertions about its content.
TEST_F(CorruptionTest, AFlippedBitInThePropertiesOfATableIsFound) {
  for (const std::filesystem::path& file : files_) {
    if (file.extension() != ".sst") continue;
    for (int bit = 0; bit < 8; ++bit) {
      SCOPED_TRACE(fmt::format("{} bit {}", file.filename().string(), bit));
      const auto store = Store::Open(CopyWithFlip(file, PropertiesByte(file), bit), LittleCache());
      EXPECT_TRUE(absl::IsDataLoss(store.status())) << store.status();
      EXPECT_THAT(std::string(store.status().message()), HasSubstr(file.filename()));
    }
  }
}

TEST_F(CorruptionTest, ADamagedRowIsNamedWithFileAndOffset) {
  // The largest table surely begins with a data block.
  const auto file = *std::max_element(files_.begin(), files_.end(), [](auto& a, auto& b) {
    const auto size = [](auto& f) {
      return f.extension() == ".sst" ? std::filesystem::file_size(f) : 0;
    };
    return size(a) < size(b);
  });
  const auto store = Store::Open(CopyWithFlip(file, 20, 3), LittleCache());
  ASSERT_TRUE(store.ok()) << store.status();
  const auto contents = ReadContents(**store);
  ASSERT_TRUE(absl::IsDataLoss(contents.status())) << contents.status();
  EXPECT_THAT(std::string(contents.status().message()),
              AllOf(HasSubstr(file.filename()), HasSubstr("offset")));
}

TEST_F(CorruptionTest, AFlippedBitElsewhereIsFoundOrHarmless) {
  RandomRecords random(2);
  for (const std::filesystem::path& file : files_) {
    const std::string name = file.filename();
    if (file.extension() == ".sst") continue;
    const size_t size = std::filesystem::file_size(file);
    for (int i = 0; i < (name.starts_with("MANIFEST") ? 60 : 5) && size > 0; ++i) {
      const size_t at = random.Below(size);
      const int bit = static_cast<int>(random.Below(8));
      SCOPED_TRACE(fmt::format("{} offset {} of {} bit {}", name, at, size, bit));
      const std::string copy = CopyWithFlip(file, at, bit);
      ExpectFoundOrHarmless(copy, name, false);
      if (name.starts_with("MANIFEST")) {
        EXPECT_THAT(std::string(Store::Open(copy, LittleCache()).status().message()),
                    AnyOf(testing::IsEmpty(), HasSubstr("MANIFEST")));
      }
    }
  }
}

TEST_F(CorruptionTest, AMissingTableIsFound) {
  for (const std::filesystem::path& file : files_) {
    if (file.extension() != ".sst") continue;
    const std::filesystem::path copy = dir_ / "copy";
    std::filesystem::remove_all(copy);
    std::filesystem::copy(dir_ / "db", copy);
    std::filesystem::remove(copy / file.filename());
    const auto store = Store::Open(copy, LittleCache());
    ASSERT_FALSE(store.ok());
    EXPECT_THAT(std::string(store.status().message()), HasSubstr(file.filename().stem()));
  }
}

}  // namespace
}  // namespace freshet
