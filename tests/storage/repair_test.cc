#include "storage/repair.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "storage/directory.h"
#include "storage/format.h"
#include "storage/frontier_store.h"
#include "storage/restore.h"
#include "storage/store.h"
#include "tests/storage/small_store.h"
#include "tests/storage/store_model.h"
#include "tests/support/flip_bit.h"
#include "tests/support/properties_byte.h"
#include "tests/support/temp_dir.h"

namespace freshet::storage {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr size_t kRepairedCommits = 30;
// The position of a byte in the first block of a table of any size. This block has rows.
constexpr size_t kInFirstBlock = 20;

// A closed store in `db`, most of it in tables.
class RepairTest : public testing::Test {
 protected:
  RepairTest() : script_(11, kRepairedCommits) {
    auto store = Store::Open(db(), SmallStore());
    EXPECT_TRUE(store.ok()) << store.status();
    for (const ScriptedCommit& commit : script_.commits()) {
      EXPECT_TRUE((*store)->Commit(commit.changes).ok());
    }
    EXPECT_TRUE((*store)->Compact().ok());
    EXPECT_TRUE((*store)->Close().ok());
  }
  [[nodiscard]] std::string db() const { return dir_ / "db"; }

  [[nodiscard]] std::vector<fs::path> Files(const std::string& suffix) const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(db())) {
      if (entry.path().string().ends_with(suffix)) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  static std::string Contents(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Returns all files of a directory, without those of subdirectories.
  static std::map<std::string, std::string> Snapshot(const std::string& dir) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(dir)) {
      const std::string name = entry.path().filename();
      if (entry.is_regular_file() && name.find("LOCK") == std::string::npos &&
          !name.starts_with("OPTIONS")) {
        files[name] = Contents(entry.path());
      }
    }
    return files;
  }
  StoreContents Read() {
    const auto store = Store::Open(db(), SmallStore());
    EXPECT_TRUE(store.ok()) << store.status();
    if (!store.ok()) return {};
    const auto report = (*store)->Verify();
    EXPECT_TRUE(report.ok() && report->ok());
    const auto contents = ReadContents(**store);
    EXPECT_TRUE(contents.ok()) << contents.status();
    return contents.ok() ? *contents : StoreContents();
  }

  TempDir dir_;
  const Script script_;
};

TEST_F(RepairTest, AnIntactStoreIsLeftAlone) {
  const auto before = Snapshot(db());
  const auto report = Repair(db(), SmallStore());
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->intact);
  EXPECT_EQ(report->pages, script_.After(kRepairedCommits).pages.size());
  EXPECT_EQ(Snapshot(db()), before);
  EXPECT_FALSE(fs::exists(db() + "/repair.tmp"));
  EXPECT_EQ(Read().DifferenceFrom(script_.After(kRepairedCommits)), "");
}

// Wherever a table is damaged, the store is usable after the repair, and its rows are right.
TEST_F(RepairTest, ADamagedTableLosesWhatStoodThereAlone) {
  const StoreContents all = script_.After(kRepairedCommits);
  const fs::path intact = dir_ / "intact";
  fs::copy(db(), intact);
  for (const fs::path& table : Files(".sst")) {
    const auto size = fs::file_size(intact / table.filename());
    for (const size_t at : {kInFirstBlock, size / 3, size - 20}) {
      SCOPED_TRACE(fmt::format("{} byte {} of {}", table.filename().string(), at, size));
      fs::remove_all(db());
      fs::copy(intact, db());
      FlipBit(table, at, 5);
      const auto damaged = Snapshot(db());
      const auto report = Repair(db(), SmallStore());
      ASSERT_TRUE(report.ok()) << report.status();
      ASSERT_FALSE(report->intact);
      EXPECT_FALSE(report->notes.empty());
      EXPECT_EQ(Snapshot(report->original), damaged);  // equal byte for byte
      const StoreContents saved = Read();
      EXPECT_LE(saved.pages.size() + report->lost_pages, all.pages.size());
      // Damage in the padding at the end of a table loses nothing.
      EXPECT_LE(report->tables.unreadable + report->tables.damaged, 1U);
      if (at == kInFirstBlock) {
        EXPECT_EQ(report->tables.unreadable_bytes + report->tables.damaged_bytes, size);
      }
      for (const auto& [number, page] : saved.pages) {
        EXPECT_EQ(page, all.pages.at(number));
      }
      for (const auto& [id, lease] : saved.leases) EXPECT_EQ(lease, all.leases.at(id));
    }
  }
}

// If RocksDB would end the process when it opens a table, only the rows of this table are lost.
TEST_F(RepairTest, ATableWithoutItsPropertiesIsLeftOut) {
  const StoreContents all = script_.After(kRepairedCommits);
  const fs::path intact = dir_ / "intact";
  fs::copy(db(), intact);
  const std::vector<fs::path> tables = Files(".sst");
  for (const fs::path& table : tables) {
    SCOPED_TRACE(table.filename().string());
    fs::remove_all(db());
    fs::copy(intact, db());
    FlipBit(table, PropertiesByte(table), 7);
    const auto restored = Restore(db(), dir_ / "restored", SmallStore());
    EXPECT_TRUE(absl::IsDataLoss(restored.status())) << restored.status();
    EXPECT_THAT(std::string(restored.status().message()), HasSubstr(table.filename()));
    EXPECT_FALSE(fs::exists(dir_ / "restored"));
    // Without CURRENT, RocksDB itself reads all tables.
    if (table == tables.front()) fs::resize_file(db() + "/CURRENT", 0);
    const auto report = Repair(db(), SmallStore());
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_FALSE(report->intact);
    EXPECT_EQ(report->tables.unreadable, 1U);
    EXPECT_EQ(report->tables.damaged, 0U);
    for (const auto& [number, page] : Read().pages) EXPECT_EQ(page, all.pages.at(number));
  }
}

TEST_F(RepairTest, WithoutManifestTheTablesAreUsed) {
  for (const std::string lost : {"CURRENT", "MANIFEST"}) {
    SCOPED_TRACE(lost);
    for (const auto& entry : fs::directory_iterator(db())) {
      const std::string name = entry.path().filename();
      if (name.starts_with(lost)) fs::resize_file(entry.path(), lost == "CURRENT" ? 0 : 100);
    }
    ASSERT_FALSE(Store::Open(db(), SmallStore()).ok());
    const auto report = Repair(db(), SmallStore());
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_FALSE(report->intact);
    EXPECT_FALSE(report->tables.complete);
    EXPECT_EQ(report->tables.unreadable, 0U);
    StoreContents expected = script_.After(kRepairedCommits);
    expected.epochs.clear();  // will be learned again
    // The script registers one source, but its pages also have signals of other sources. The repair
    // assumes that the rows of these sources were lost.
    const StoreContents saved = Read();
    for (const auto& [index, source] : saved.sources) {
      const SourceRecord invented{.name = fmt::format("lost-{}", index), .index = index};
      expected.sources.try_emplace(index, invented);
    }
    EXPECT_EQ(saved.DifferenceFrom(expected), "");
  }
  EXPECT_TRUE(fs::exists(db() + "/damaged-1"));
  EXPECT_TRUE(fs::exists(db() + "/damaged-2"));
}

// The pages in unreadable tables cannot be counted. The report gives what is known, and says that
// it is incomplete.
TEST_F(RepairTest, TablesThatCannotBeReadAtAllAreSaid) {
  const fs::path intact = dir_ / "intact";
  fs::copy(db(), intact);
  const auto damage = [&](auto act) {
    fs::remove_all(db());
    fs::copy(intact, db());
    for (const fs::path& table : Files(".sst")) act(table);
    const auto report = Repair(db(), SmallStore());
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : RepairReport();
  };
  uint64_t bytes = 0;
  for (const fs::path& table : Files(".sst")) bytes += fs::file_size(table);
  const uint64_t tables = Files(".sst").size();
  ASSERT_GT(tables, 3U);
  const std::map<std::string, std::function<void(const fs::path&)>> acts = {
      {"overwritten", [](const fs::path& table) { FlipBit(table, fs::file_size(table) - 1, 3); }},
      {"cut", [](const fs::path& table) { fs::resize_file(table, 0); }},
      {"missing", [](const fs::path& table) { fs::remove(table); }}};
  for (const auto& [name, act] : acts) {
    SCOPED_TRACE(name);
    const RepairReport report = damage(act);
    EXPECT_FALSE(report.intact);
    EXPECT_EQ(report.pages, 0U);
    EXPECT_TRUE(report.tables.complete);
    EXPECT_EQ(report.tables.tables, tables);
    EXPECT_EQ(report.tables.unreadable, tables);
    EXPECT_EQ(report.tables.unreadable_bytes, bytes);
    EXPECT_EQ(report.tables.damaged, 0U);
    EXPECT_THAT(report.notes,
                Contains(ContainsRegex("table .*\\.sst of pages, [0-9]+ bytes, cannot "
                                       "be read at all: ")));
  }
  const RepairReport parts =
      damage([](const fs::path& table) { FlipBit(table, kInFirstBlock, 3); });
  EXPECT_FALSE(parts.intact);
  EXPECT_EQ(parts.tables.unreadable + parts.tables.damaged, tables);
  EXPECT_EQ(parts.tables.unreadable_bytes + parts.tables.damaged_bytes, bytes);
  EXPECT_GT(parts.tables.damaged, 0U);
  EXPECT_GE(parts.tables.damaged_rows, parts.tables.damaged);
}

TEST_F(RepairTest, LeaseIdsAreNeverGivenAgain) {
  const auto generation = [&] { return (*Store::Open(db(), SmallStore()))->generation(); };
  const uint64_t before = generation();
  FlipBit(Files(".sst").front(), 30, 5);
  ASSERT_TRUE(Repair(db(), SmallStore()).ok());
  EXPECT_GT(generation(), before + 1000);
}

TEST_F(RepairTest, RefusesWhatIsInUseOrNotThere) {
  const auto store = Store::Open(db(), SmallStore());
  EXPECT_TRUE(absl::IsFailedPrecondition(Repair(db(), SmallStore()).status()));
  EXPECT_TRUE(absl::IsNotFound(Repair(dir_ / "nothing", SmallStore()).status()));
}

// --- Restoring

TEST_F(RepairTest, ACheckpointIsRestored) {
  const std::string checkpoint = dir_ / "checkpoint";
  uint64_t generation = 0;
  {
    const auto store = Store::Open(db(), SmallStore());
    ASSERT_TRUE((*store)->Checkpoint(checkpoint).ok());
    generation = (*store)->generation();
  }
  const auto before = Snapshot(checkpoint);
  fs::remove_all(db());
  const auto report = Restore(checkpoint, db(), SmallStore());
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->ok());
  EXPECT_EQ(report->pages, script_.After(kRepairedCommits).pages.size());
  {
    const auto store = Store::Open(db(), SmallStore());
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_GT((*store)->generation(), generation + 1000);
    EXPECT_EQ(ReadContents(**store)->DifferenceFrom(script_.After(kRepairedCommits)), "");
    Changes changes;
    const StoreContents contents = script_.After(kRepairedCommits);
    for (const auto& [number, page] : contents.pages) changes.removed_pages.push_back(&page);
    ASSERT_TRUE((*store)->Commit(changes).ok());
    ASSERT_TRUE((*store)->Compact().ok());
  }
  EXPECT_EQ(Snapshot(checkpoint), before);  // still restorable
  EXPECT_TRUE(absl::IsAlreadyExists(Restore(checkpoint, db(), SmallStore()).status()));
  EXPECT_TRUE(absl::IsNotFound(Restore(dir_ / "none", dir_ / "other", SmallStore()).status()));
}

// A new disk has only this directory of its file system.
TEST_F(RepairTest, ADiskWithNothingButLostAndFoundIsEmpty) {
  const fs::path target = dir_ / "disk";
  fs::create_directories(target / "lost+found");
  EXPECT_TRUE(absl::IsNotFound(Restore(dir_ / "none", target, SmallStore()).status()));
  const auto report = Restore(db(), target, SmallStore());
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->ok());
  EXPECT_TRUE(fs::is_directory(target / "lost+found"));
  // The directory must be the only entry, and a file with this name does not count.
  EXPECT_TRUE(absl::IsAlreadyExists(Restore(db(), target, SmallStore()).status()));
  const fs::path other = dir_ / "other";
  fs::create_directory(other);
  std::ofstream(other / "lost+found") << "of somebody";
  EXPECT_TRUE(absl::IsAlreadyExists(Restore(db(), other, SmallStore()).status()));
  // A failed restore does not change the target.
  const fs::path third = dir_ / "third";
  fs::create_directories(third / "lost+found");
  FlipBit(Files(".sst").back(), 30, 5);
  const auto damaged = Restore(db(), third, SmallStore());
  EXPECT_FALSE(damaged.ok() && damaged->ok());
  EXPECT_TRUE(fs::is_directory(third / "lost+found"));
  EXPECT_EQ(std::distance(fs::directory_iterator(third), {}), 1);
}

// A user who may write to a checkpoint must not be able to write to the restored store.
TEST_F(RepairTest, OnlyTablesThatNobodyElseMayChangeAreLinked) {
  const std::vector<fs::path> tables = Files(".sst");
  ASSERT_GE(tables.size(), 2u);
  fs::permissions(tables.front(), fs::perms::group_write, fs::perm_options::add);
  const std::string target = dir_ / "target";
  ASSERT_TRUE(Restore(db(), target, SmallStore()).ok());
  EXPECT_EQ(fs::hard_link_count(tables.front()), 1u);
  EXPECT_EQ(fs::hard_link_count(tables.back()), 2u);
}

// A user who may write to a checkpoint, or who makes an archive of one, decides which files are in
// it.
class StrangeFilesTest : public RepairTest {
 protected:
  // Replaces a file of the store with one that `make` makes, and expects that restore, open and
  // repair refuse it by name.
  void ExpectRefused(const fs::path& path, const std::function<void(const fs::path&)>& make) {
    const fs::path aside = dir_ / "aside";
    const bool was_there = fs::exists(path);
    if (was_there) fs::rename(path, aside);
    make(path);
    const std::string target = dir_ / "target";
    const Status restored = Restore(db(), target, SmallStore()).status();
    EXPECT_THAT(restored.message(), HasSubstr(path.string()));
    EXPECT_TRUE(!fs::exists(target) || fs::is_empty(target));
    EXPECT_THAT(Store::Open(db(), SmallStore()).status().message(), HasSubstr(path.string()));
    EXPECT_THAT(Repair(db(), SmallStore()).status().message(), HasSubstr(path.string()));
    fs::remove(path);
    if (was_there) fs::rename(aside, path);
  }
  static void MakePipe(const fs::path& path) { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); }
  static void LinkToZeros(const fs::path& path) { fs::create_symlink("/dev/zero", path); }

  // Returns a file of each kind, and two files that no MANIFEST names.
  [[nodiscard]] std::vector<fs::path> Places() const {
    std::vector<fs::path> places = {fs::path(db()) / "CURRENT", fs::path(db()) / "999999.sst",
                                    fs::path(db()) / "999999.log"};
    for (const auto& entry : fs::directory_iterator(db())) {
      if (entry.path().filename().string().starts_with("MANIFEST-")) places.push_back(entry.path());
    }
    places.push_back(Files(".sst").front());
    return places;
  }
};

TEST_F(StrangeFilesTest, NobodyWaitsForAPipe) {
  ASSERT_EQ(Places().size(), 5u);
  for (const fs::path& path : Places()) ExpectRefused(path, &MakePipe);
}

TEST_F(StrangeFilesTest, NoLinkIsFollowed) {
  for (const fs::path& path : Places()) ExpectRefused(path, &LinkToZeros);
  // A link to an intact file is refused, too.
  const fs::path table = Files(".sst").front();
  const fs::path elsewhere = dir_ / "elsewhere.sst";
  fs::copy_file(table, elsewhere);
  ExpectRefused(table, [&](const fs::path& path) { fs::create_symlink(elsewhere, path); });
  EXPECT_TRUE(Restore(db(), dir_ / "whole", SmallStore()).ok()) << "as it was before";
}

// A copy would store the holes, so a few bytes would fill a disk.
TEST_F(StrangeFilesTest, AFileOfHolesIsNotCopied) {
  for (const char* name : {"999999.log", "999999.sst"}) {
    const fs::path path = fs::path(db()) / name;
    std::ofstream(path) << "x";
    fs::resize_file(path, uint64_t{8} << 30);
    // A table that others can write is copied, not linked.
    fs::permissions(path, fs::perms::group_write, fs::perm_options::add);
    const std::string target = dir_ / "target";
    const Status restored = Restore(db(), target, SmallStore()).status();
    EXPECT_THAT(restored.message(),
                HasSubstr(path.string() + ": 8589934592 bytes are mostly holes"));
    EXPECT_TRUE(!fs::exists(target) || fs::is_empty(target));
    fs::remove(path);
  }
  EXPECT_TRUE(Restore(db(), dir_ / "whole", SmallStore()).ok()) << "as it was before";
}

// A repair makes a new CURRENT.
TEST_F(StrangeFilesTest, CurrentNamesAManifestBesideItInAFewBytes) {
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("MANIFEST-\n"), std::string("MANIFEST-1"),
        std::string("../../../../../../../dev/zero\n"), std::string("MANIFEST-/../CURRENT\n"),
        std::string(10'000'000, 'M')}) {
    std::ofstream(fs::path(db()) / "CURRENT", std::ios::trunc) << text;
    const std::string target = dir_ / "target";
    for (const Status& refused :
         {Restore(db(), target, SmallStore()).status(), Store::Open(db(), SmallStore()).status()}) {
      EXPECT_THAT(refused.message(), HasSubstr("CURRENT: does not name a MANIFEST"));
      EXPECT_LT(refused.message().size(), 1000u);
    }
    EXPECT_TRUE(!fs::exists(target) || fs::is_empty(target));
  }
}

TEST_F(StrangeFilesTest, ALockThatIsALinkMakesAndOpensNothing) {
  const fs::path outside = dir_ / "outside";
  const fs::path lock = fs::path(db()) / kLockFileName;
  const auto link = [&](const fs::path& path) { fs::create_symlink(outside, path); };
  std::ofstream(outside) << "of somebody else";
  ExpectRefused(lock, link);
  fs::remove(outside);
  fs::remove(lock);
  link(lock);
  EXPECT_FALSE(Store::Open(db(), SmallStore()).ok());
  EXPECT_FALSE(fs::exists(outside));
}

TEST_F(StrangeFilesTest, AFrontierElsewhereIsNotRestored) {
  const fs::path frontier = FrontierDirectory(db());
  fs::create_directory(dir_ / "outside");
  fs::create_directory_symlink(dir_ / "outside", frontier);
  EXPECT_THAT(Restore(db(), dir_ / "target", SmallStore()).status().message(),
              HasSubstr(frontier.string()));
}

TEST_F(RepairTest, ADamagedCheckpointIsNotRestored) {
  FlipBit(Files(".sst").back(), 30, 5);
  const std::string target = dir_ / "target";
  const auto report = Restore(db(), target, SmallStore());
  EXPECT_FALSE(report.ok() && report->ok());
  EXPECT_TRUE(!fs::exists(target) || fs::is_empty(target));
}

}  // namespace
}  // namespace freshet::storage
