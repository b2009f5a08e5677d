#include "storage/internal/wal_check.h"

#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rocksdb/env.h"
#include "storage/internal/crc32c.h"
#include "storage/store.h"
#include "tests/storage/store_model.h"
#include "tests/support/faulty_env.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wall_time.h"

namespace freshet::storage {
namespace {

using testing::HasSubstr;

std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void Spill(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// A log in RocksDB's format, and the offsets of its records. Owner thread only.
class LogBuilder {
 public:
  // Adds a write batch of three changes with `payload_bytes` bytes, at least 12.
  void Add(size_t payload_bytes, RandomRecords& random) {
    std::string payload = random.Bytes(payload_bytes);
    const uint64_t sequence = next_sequence_;
    const uint32_t count = 3;
    payload.replace(0, 8, reinterpret_cast<const char*>(&sequence), 8);
    payload.replace(8, 4, reinterpret_cast<const char*>(&count), 4);
    next_sequence_ += count;
    AddPayload(payload);
  }

  void AddPayload(const std::string& payload) {
    starts.push_back(bytes.size());
    bool first = true;
    std::string_view rest = payload;
    do {
      const size_t block_rest = kBlock - bytes.size() % kBlock;
      if (block_rest < kHeader) {
        bytes.append(block_rest, '\0');
        if (first) starts.back() = bytes.size();
        continue;
      }
      const size_t length = std::min(rest.size(), block_rest - kHeader);
      const bool last = length == rest.size();
      Emit(first ? (last ? 1 : 2) : (last ? 4 : 3), rest.substr(0, length));
      rest.remove_prefix(length);
      first = false;
    } while (!rest.empty() || first);
  }

  std::string bytes;
  std::vector<size_t> starts;

 private:
  static constexpr size_t kBlock = 32768;
  static constexpr size_t kHeader = 7;

  void Emit(uint8_t type, std::string_view payload) {
    const std::string body = std::string(1, static_cast<char>(type)) + std::string(payload);
    const uint32_t crc = Crc32c(0, body);
    const uint32_t masked = (crc >> 15 | crc << 17) + 0xA282EAD8U;
    const auto length = static_cast<uint16_t>(payload.size());
    bytes.append(reinterpret_cast<const char*>(&masked), 4);
    bytes.append(reinterpret_cast<const char*>(&length), 2);
    bytes.append(body);
  }

  uint64_t next_sequence_ = 100;
};

LogBuilder ManyRecords() {
  RandomRecords random(1);
  LogBuilder log;
  // There are short records, some that cross a block, one that fills several, and short ones again.
  for (int i = 0; i < 20; ++i) log.Add(12 + random.Below(60), random);
  log.Add(40'000, random);
  for (int i = 0; i < 30; ++i) log.Add(12 + random.Below(2'000), random);
  return log;
}

TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(Crc32c(0, "123456789"), 0xE3069283U);
  EXPECT_EQ(Crc32c(0, std::string(32, '\0')), 0x8A9136AAU);  // RFC 3720, B.4
  EXPECT_EQ(Crc32c(0, std::string(32, '\xff')), 0x62A8AB43U);
  EXPECT_EQ(Crc32c(Crc32c(0, "12345"), "6789"), 0xE3069283U);
}

TEST(Crc32c, IsTheSameByTables) {
  RandomRecords random(6);
  for (size_t size = 0; size < 200; ++size) {
    const std::string bytes = random.Bytes(size);
    const size_t cut = random.Below(size + 1);
    const uint32_t whole = Crc32cByTables(0, bytes);
    EXPECT_EQ(Crc32c(0, bytes), whole) << size;
    const std::string_view rest = std::string_view(bytes).substr(cut);
    EXPECT_EQ(Crc32c(Crc32cByTables(0, bytes.substr(0, cut)), rest), whole) << size << ", " << cut;
    EXPECT_EQ(Crc32cByTables(Crc32c(0, bytes.substr(0, cut)), rest), whole) << size << ", " << cut;
  }
}

TEST(ReadLog, CountsIntactRecords) {
  const LogBuilder log = ManyRecords();
  const WalReading reading = ReadLog(log.bytes, LogKind::kWal);
  EXPECT_FALSE(reading.faulty) << reading.fault.what;
  EXPECT_EQ(reading.contents.records, log.starts.size());
  EXPECT_EQ(reading.contents.first_sequence, 100U);
  EXPECT_EQ(reading.contents.next_sequence, 100 + 3 * log.starts.size());
  EXPECT_FALSE(ReadLog("", LogKind::kWal).faulty);
}

TEST(ReadLog, ReadsBatchesWhoseHeaderLiesAcrossBlocks) {
  RandomRecords random(4);
  for (size_t room = 0; room <= 60; ++room) {
    LogBuilder log;
    log.Add(32768 - 7 - room, random);
    ASSERT_EQ(log.bytes.size(), 32768 - room);
    log.Add(70'000, random);
    log.Add(22, random);
    const WalReading reading = ReadLog(log.bytes, LogKind::kWal);
    EXPECT_FALSE(reading.faulty) << "room " << room << ": " << reading.fault.what;
    EXPECT_EQ(reading.contents.records, 3U);
    EXPECT_EQ(reading.contents.first_sequence, 100U);
    EXPECT_EQ(reading.contents.next_sequence, 109U);
  }
}

TEST(ReadLog, RefusesRecordsThatAreTooShortForABatch) {
  for (size_t size = 1; size < 12; ++size) {
    LogBuilder log;
    log.AddPayload(std::string(size, 'x'));
    const WalReading reading = ReadLog(log.bytes, LogKind::kWal);
    EXPECT_TRUE(reading.faulty);
    EXPECT_FALSE(reading.fault.torn);
    EXPECT_FALSE(ReadLog(log.bytes, LogKind::kManifest).faulty);
  }
}

// A write fails for lack of space, and RocksDB repeats it in the same log.
TEST(ReadLog, AWriteThatFailedAndWasRepeatedIsATornTail) {
  RandomRecords random(5);
  for (const size_t length : {30, 3'000, 40'000}) {
    LogBuilder log;
    for (int i = 0; i < 40; ++i) log.Add(12 + random.Below(2'000), random);
    const size_t start = log.bytes.size();
    log.Add(length, random);
    const std::string last = log.bytes.substr(start);
    for (size_t part = 1; part < last.size(); part += 1 + last.size() / 50) {
      const std::string bytes = log.bytes.substr(0, start) + last.substr(0, part) + last;
      const WalReading reading = ReadLog(bytes, LogKind::kWal);
      ASSERT_TRUE(reading.faulty);
      EXPECT_TRUE(reading.fault.torn) << reading.fault.what;
      EXPECT_EQ(reading.fault.offset, start);
    }
  }
}

// The log ends with erased flash, or other junk of repeated bytes. Comparing all pairs of equal
// runs would take days.
TEST(ReadLog, ALogThatRepeatsItselfIsJudgedAtOnce) {
  RandomRecords random(9);
  LogBuilder log;
  log.Add(100, random);
  const std::string intact = log.bytes;
  for (const char byte : {'\xff', '\x01', '\x02', '?'}) {
    const std::string bytes = intact + std::string(size_t{32} << 20, byte);
    for (const std::string& end : {std::string(), std::string(1024, '\0')}) {
      const WalReading reading = ReadLog(bytes + end, LogKind::kWal);
      ASSERT_TRUE(reading.faulty);
      EXPECT_EQ(reading.fault.torn, !end.empty()) << reading.fault.what;
      EXPECT_EQ(reading.fault.offset, intact.size());
    }
  }
}

// In a record of equal bytes, every part looks like a repetition of every other part.
TEST(ReadLog, AFailedWriteOfEqualBytesWasRepeated) {
  for (const size_t length : {12, 300, 40'000}) {
    LogBuilder whole;
    whole.AddPayload(std::string(length, '\0'));
    for (size_t part = 1; part < whole.bytes.size(); part += 1 + length / 40) {
      const WalReading reading = ReadLog(whole.bytes.substr(0, part) + whole.bytes, LogKind::kWal);
      ASSERT_TRUE(reading.faulty) << part;
      EXPECT_TRUE(reading.fault.torn) << part << ": " << reading.fault.what;
      EXPECT_EQ(reading.fault.offset, 0U);
    }
  }
}

TEST(ReadLog, EveryTruncationIsATornTail) {
  const LogBuilder log = ManyRecords();
  size_t whole = 0;  // records that end at or before `size`
  // Tries every size near the start of a record or block, and some sizes in between.
  for (size_t size = 0; size < log.bytes.size(); ++size) {
    const size_t behind = size - log.starts[whole];
    if (behind > 40 && size % 32768 > 40 && size % 32768 < 32728 && size % 17 != 0) continue;
    while (whole + 1 < log.starts.size() && log.starts[whole + 1] <= size) ++whole;
    const WalReading reading = ReadLog(std::string_view(log.bytes).substr(0, size), LogKind::kWal);
    if (!reading.faulty) {
      EXPECT_EQ(reading.contents.records, whole) << size;
      continue;
    }
    ASSERT_TRUE(reading.fault.torn) << size << ": " << reading.fault.what;
    EXPECT_EQ(reading.fault.offset, log.starts[reading.contents.records]) << size;
  }
}

TEST(ReadLog, EveryFlippedBitIsDamageAndNeverATornTail) {
  const LogBuilder log = ManyRecords();
  RandomRecords random(2);
  const WalReading intact = ReadLog(log.bytes, LogKind::kWal);
  for (size_t at = 0; at < log.bytes.size(); at += at < 2000 || at > 60'000 ? 1 : 7) {
    std::string damaged = log.bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << random.Below(8));
    const WalReading reading = ReadLog(damaged, LogKind::kWal);
    if (!reading.faulty) {
      // Padding at the end of a block belongs to no record.
      EXPECT_EQ(reading.contents.records, intact.contents.records);
      EXPECT_EQ(log.bytes[at], '\0');
      continue;
    }
    ASSERT_FALSE(reading.fault.torn) << at << ": " << reading.fault.what;
    EXPECT_LE(reading.fault.offset, at);
  }
}

TEST(ReadLog, UnwrittenSectorsAtTheEndAreATornTail) {
  LogBuilder log = ManyRecords();
  const size_t last = log.starts.back();
  RandomRecords random(3);
  log.bytes.resize(last);
  log.Add(3000, random);
  const size_t start = log.starts.back();
  std::string torn = log.bytes;
  std::fill(torn.begin() + static_cast<long>(start + 1000), torn.end(), '\0');
  const WalReading reading = ReadLog(torn, LogKind::kWal);
  ASSERT_TRUE(reading.faulty);
  EXPECT_TRUE(reading.fault.torn);
  EXPECT_EQ(reading.fault.offset, start);
  const WalReading zeros = ReadLog(log.bytes + std::string(70'000, '\0'), LogKind::kWal);
  ASSERT_TRUE(zeros.faulty);
  EXPECT_TRUE(zeros.fault.torn);
  EXPECT_EQ(zeros.fault.offset, log.bytes.size());
}

// A directory with a MANIFEST and one log, which CheckLogs reads in pieces.
class LogOnDisk : public testing::Test {
 protected:
  LogOnDisk() {
    LogBuilder manifest;
    manifest.AddPayload("opaque");
    Spill(dir_ / "MANIFEST-000001", manifest.bytes);
    Spill(dir_ / "CURRENT", "MANIFEST-000001\n");
    RandomRecords random(8);
    // Several pieces, with records of all lengths, some longer than a piece.
    for (int i = 0; i < 60; ++i) {
      log_.Add(12 + random.Below(random.Below(10) == 0 ? 900'000 : 30'000), random);
    }
  }

  Status Check(std::string_view log, WalPolicy policy) {
    Spill(path_, log);
    return CheckLogs(rocksdb::Env::Default(), dir_ / "", policy, {}, &progress_);
  }

  TempDir dir_;
  const std::string path_ = dir_ / "000002.log";
  LogBuilder log_;
  OpenProgress progress_;
};

TEST_F(LogOnDisk, IsLookedAtToTheEnd) {
  ASSERT_TRUE(Check(log_.bytes, WalPolicy::kRefuse).ok());
  EXPECT_EQ(progress_.log_bytes, log_.bytes.size());
  EXPECT_EQ(progress_.checked_log_bytes, log_.bytes.size());
  EXPECT_EQ(Slurp(path_), log_.bytes);
  EXPECT_EQ(*WalBytes(rocksdb::Env::Default(), dir_ / ""), log_.bytes.size());
}

TEST_F(LogOnDisk, DamageIsFoundWhereverItIs) {
  for (size_t i = 0; i + 1 < log_.starts.size(); i += 7) {
    std::string damaged = log_.bytes;
    const size_t at = (log_.starts[i] + log_.starts[i + 1]) / 2;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    const Status status = Check(damaged, WalPolicy::kRefuse);
    ASSERT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(fmt::format("000002.log, offset {}:", log_.starts[i])));
    EXPECT_EQ(Slurp(path_).size(), damaged.size());
  }
}

TEST_F(LogOnDisk, TornTailsAreCutAtTheLastRecord) {
  const size_t last = log_.starts.back();
  ASSERT_TRUE(Check(log_.bytes.substr(0, log_.bytes.size() - 1), WalPolicy::kRefuse).ok());
  EXPECT_EQ(Slurp(path_), log_.bytes.substr(0, last));
  // The log is cut off at the end of a piece.
  const size_t block = 32'768;
  const size_t size = (log_.bytes.size() / block - 16) / 16 * 16 * block;
  ASSERT_TRUE(Check(log_.bytes.substr(0, size), WalPolicy::kRefuse).ok());
  const auto torn = std::upper_bound(log_.starts.begin(), log_.starts.end(), size);
  EXPECT_EQ(Slurp(path_).size(), *(torn - 1));
}

TEST_F(LogOnDisk, CheckingEndsWhenItIsCancelled) {
  progress_.cancelled = true;
  EXPECT_TRUE(absl::IsCancelled(Check(log_.bytes, WalPolicy::kRefuse)));
  EXPECT_EQ(Slurp(path_), log_.bytes);
}

// If the log has a bad end, the check reads this end into memory as a whole and examines it. The
// check can be cancelled then, too.
TEST_F(LogOnDisk, JudgingEndsWhenItIsCancelled) {
  // Each fifth byte could begin an intact record of half a block.
  std::string junk;
  while (junk.size() < size_t{64} << 20) junk.append("\x3f\x01xx\0", 5);
  junk.append(4096, '\0');
  std::future<Status> checked =
      std::async(std::launch::async, [&] { return Check(log_.bytes + junk, WalPolicy::kRefuse); });
  const size_t piece = 512 << 10;
  WaitUntil([&] { return progress_.checked_log_bytes == log_.bytes.size() / piece * piece; });
  progress_.cancelled = true;
  EXPECT_TRUE(absl::IsCancelled(checked.get()));
}

// The store of a process that has died. Its commits are only in the log.
class DeadStore : public testing::Test {
 protected:
  DeadStore() : script_(7, 8) {
    FaultyEnv env(1);
    StoreOptions options = Options();
    options.env = env.env();
    auto store = Store::Open(dir_ / "db", options);
    EXPECT_TRUE(store.ok()) << store.status();
    for (const ScriptedCommit& commit : script_.commits()) {
      EXPECT_TRUE((*store)->Commit(commit.changes).ok());
    }
    env.DieAt(1);
    *store = nullptr;
    for (const auto& entry : std::filesystem::directory_iterator(dir_ / "db")) {
      if (entry.path().extension() == ".log" && entry.file_size() > 0)
        logs_.push_back(entry.path());
    }
    std::sort(logs_.begin(), logs_.end());
  }

  static StoreOptions Options() {
    StoreOptions options;
    options.reserve_bytes = 0;
    return options;
  }
  // Makes a copy of the directory with `log` in place of its log.
  std::string CopyWithLog(std::string_view log) {
    const std::string copy = dir_ / "copy";
    std::filesystem::remove_all(copy);
    std::filesystem::copy(dir_ / "db", copy);
    Spill(copy + "/" + LogName(), log);
    return copy;
  }
  std::string LogName() { return std::filesystem::path(logs_.back()).filename(); }

  TempDir dir_;
  Script script_;
  std::vector<std::string> logs_;
};

TEST_F(DeadStore, AFlippedByteIsRefusedWithFileAndOffset) {
  ASSERT_FALSE(logs_.empty());
  const std::string log = Slurp(logs_.back());
  ASSERT_GT(log.size(), 1000U);
  for (size_t at = 3; at < log.size(); at += log.size() / 25) {
    std::string damaged = log;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const auto store = Store::Open(CopyWithLog(damaged), Options());
    ASSERT_TRUE(absl::IsDataLoss(store.status())) << at << ": " << store.status();
    EXPECT_THAT(std::string(store.status().message()), HasSubstr(LogName()));
    EXPECT_THAT(std::string(store.status().message()), HasSubstr("offset"));
  }
  const auto store = Store::Open(CopyWithLog(log), Options());
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(*ReadContents(**store), script_.After(8));
}

TEST_F(DeadStore, ATornTailIsCutAndReported) {
  const std::string log = Slurp(logs_.back());
  std::vector<std::string> said;
  StoreOptions options = Options();
  options.log = [&](char level, std::string_view line) {
    if (level == 'W') said.emplace_back(line);
  };
  const auto store = Store::Open(CopyWithLog(log.substr(0, log.size() - 5)), options);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(ReadContents(**store)->DifferenceFrom(script_.After(7)), "");
  ASSERT_FALSE(said.empty());
  EXPECT_THAT(said.front(), HasSubstr("cutting off"));
}

TEST_F(DeadStore, WithoutSyncDamageIsCutAndReported) {
  std::string log = Slurp(logs_.back());
  log[log.size() / 2] = static_cast<char>(log[log.size() / 2] ^ 1);
  StoreOptions options = Options();
  options.durability = Durability::kWal;
  std::vector<std::string> said;
  options.log = [&](char, std::string_view line) { said.emplace_back(line); };
  const auto store = Store::Open(CopyWithLog(log), options);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_THAT(said, testing::Contains(HasSubstr("cutting off")));
  const auto contents = ReadContents(**store);
  ASSERT_TRUE(contents.ok());
  bool some_prefix = false;
  for (size_t n = 0; n < 8; ++n) some_prefix |= *contents == script_.After(n);
  EXPECT_TRUE(some_prefix);
}

// If the process died before a flush, a log can have more bytes than a memtable.
TEST_F(DeadStore, IsServedBeforeAnythingIsWritten) {
  constexpr size_t kSmallestMemtable = 64 << 10;  // the smallest that RocksDB allows
  const std::string copy = CopyWithLog(Slurp(logs_.back()));
  const StoreContents& contents = script_.After(8);
  Changes changes;
  for (const auto& [number, page] : contents.pages) {
    changes.pages.push_back({.record = &page});
  }
  StoreOptions options = Options();
  {
    FaultyEnv env(2);
    options.env = env.env();
    auto store = Store::Open(copy, options);
    ASSERT_TRUE(store.ok()) << store.status();
    while ((*store)->Stats().wal_written_bytes < kSmallestMemtable * 3 / 2) {
      ASSERT_TRUE((*store)->Commit(changes).ok());
    }
    env.DieAt(1);
  }
  OpenProgress progress;
  options.env = nullptr;
  options.write_buffer_bytes = kSmallestMemtable;
  options.hold_compactions = true;
  options.progress = &progress;
  const auto store = Store::Open(copy, options);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_GT(progress.replayed_log_bytes, kSmallestMemtable);
  // RocksDB counts bytes that it writes during a replay as compacted, not as flushed.
  EXPECT_EQ((*store)->Stats().flushed_bytes + (*store)->Stats().compacted_bytes, 0U);
  EXPECT_EQ(ReadContents(**store)->DifferenceFrom(contents), "");

  // From now on memtables have their limit, so the next commits fill them.
  ASSERT_TRUE((*store)->StartCompactions().ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*store)->Commit(changes).ok());
  EXPECT_TRUE(Eventually([&] { return (*store)->Stats().flushed_bytes > 0; }));
}

TEST_F(DeadStore, AMissingFileIsRefused) {
  const std::string copy = CopyWithLog(Slurp(logs_.back()));
  std::filesystem::remove(copy + "/CURRENT");
  const auto store = Store::Open(copy, Options());
  EXPECT_TRUE(absl::IsDataLoss(store.status())) << store.status();
}

}  // namespace
}  // namespace freshet::storage
