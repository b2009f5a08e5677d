#include "storage/internal/table_check.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rocksdb/options.h"
#include "rocksdb/sst_file_reader.h"
#include "storage/store.h"
#include "tests/storage/small_store.h"
#include "tests/storage/store_model.h"
#include "tests/support/flip_bit.h"
#include "tests/support/properties_byte.h"
#include "tests/support/temp_dir.h"

namespace freshet::storage {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr size_t kTableFooter = 53;
constexpr size_t kVersionFromEnd = 12;
constexpr size_t kMagicBytes = 8;
constexpr size_t kSomeProperties = 500;  // bytes; the block has more

// A table in memory. Thread-compatible.
class TableBytes : public rocksdb::FSRandomAccessFile {
 public:
  explicit TableBytes(const std::string& bytes) : bytes_(bytes) {}
  rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions&,
                         rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext*) const override {
    const std::string_view from = std::string_view(bytes_).substr(std::min(offset, bytes_.size()));
    *result = rocksdb::Slice(scratch, std::min(n, from.size()));
    std::memcpy(scratch, from.data(), result->size());
    return rocksdb::IOStatus::OK();
  }

 private:
  const std::string& bytes_;
};

rocksdb::IOStatus CheckTableOf(const std::string& bytes) {
  return CheckTable("dir/000007.sst", TableBytes(bytes), bytes.size());
}

class TableCheckTest : public testing::Test {
 protected:
  TableCheckTest() {
    const Script script(5, 10);
    auto store = Store::Open(dir_ / "db", SmallStore());
    EXPECT_TRUE(store.ok()) << store.status();
    for (const ScriptedCommit& commit : script.commits()) {
      EXPECT_TRUE((*store)->Commit(commit.changes).ok());
    }
    EXPECT_TRUE((*store)->Compact().ok());
    EXPECT_TRUE((*store)->Close().ok());
    for (const auto& entry : fs::directory_iterator(dir_ / "db")) {
      if (entry.path().extension() == ".sst") paths_.push_back(entry.path());
    }
    EXPECT_GT(paths_.size(), 3U);
  }
  static std::string Read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static size_t FooterOf(const std::string& bytes) { return bytes.size() - kTableFooter; }
  static std::string Flipped(std::string bytes, size_t at, int bit) {
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << bit);
    return bytes;
  }
  // Lets RocksDB open and check the table, which must not end the process.
  void GiveToRocksDb(const std::string& bytes) {
    const fs::path path = dir_ / "000007.sst";
    std::ofstream(path, std::ios::binary) << bytes;
    rocksdb::SstFileReader reader((rocksdb::Options()));
    rocksdb::Status status = reader.Open(path);
    if (status.ok()) status = reader.VerifyChecksum();
    status.PermitUncheckedError();
  }

  TempDir dir_;
  std::vector<fs::path> paths_;
};

TEST_F(TableCheckTest, TakesWhatRocksDbHasWritten) {
  for (const fs::path& path : paths_) EXPECT_TRUE(CheckTableOf(Read(path)).ok()) << path;
}

TEST_F(TableCheckTest, FindsEachBitOfThePropertiesAndTheMetaindex) {
  for (const fs::path& path : paths_) {
    const std::string intact = Read(path);
    for (size_t at = PropertiesByte(path) - kSomeProperties; at < FooterOf(intact); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        SCOPED_TRACE(fmt::format("{} byte {} bit {}", path.filename().string(), at, bit));
        const rocksdb::IOStatus status = CheckTableOf(Flipped(intact, at, bit));
        EXPECT_TRUE(status.IsCorruption());
        EXPECT_THAT(status.ToString(), HasSubstr("000007.sst, offset "));
      }
    }
  }
}

// The footer has no checksum. RocksDB must survive every footer that passes the check.
TEST_F(TableCheckTest, GivesRocksDbNoFooterThatEndsTheProcess) {
  const std::string intact = Read(paths_.front());
  for (size_t at = FooterOf(intact); at < intact.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      SCOPED_TRACE(fmt::format("byte {} bit {}", at - FooterOf(intact), bit));
      const std::string bytes = Flipped(intact, at, bit);
      if (CheckTableOf(bytes).ok()) GiveToRocksDb(bytes);
      // If the magic number differs, RocksDB reads the metaindex without its checksum.
      if (at >= intact.size() - kMagicBytes) {
        EXPECT_TRUE(CheckTableOf(bytes).IsCorruption());
      }
    }
  }
  // If the first byte of the footer were 0, RocksDB would check nothing.
  std::string unchecked = intact;
  unchecked[FooterOf(intact)] = 0;
  EXPECT_TRUE(CheckTableOf(unchecked).IsCorruption());
}

// The check reads only bytes that exist, whatever the footer says.
TEST_F(TableCheckTest, BelievesNoFooter) {
  const std::string intact = Read(paths_.front());
  for (const size_t bytes :
       {size_t{0}, kTableFooter - 1, kTableFooter, kTableFooter + 4, intact.size() - 1}) {
    const rocksdb::IOStatus status = CheckTableOf(intact.substr(intact.size() - bytes));
    EXPECT_TRUE(bytes < kTableFooter ? status.ok() : status.IsCorruption()) << bytes;
  }
  std::string far = intact;
  // These varints of nine bytes put the end of a block beyond 2^62.
  far.replace(far.size() - kTableFooter + 1, 20,
              std::string(8, '\xFF') + '\x3F' + '\x01' + '\x01' + std::string(8, '\xFF') + '\x3F');
  EXPECT_TRUE(CheckTableOf(far).IsCorruption());
  std::string newer = intact;
  newer[newer.size() - kVersionFromEnd] = 6;
  EXPECT_TRUE(CheckTableOf(newer).IsCorruption());
}

}  // namespace
}  // namespace freshet::storage
