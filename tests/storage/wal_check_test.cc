// Logs that were cut into blocks at every place that a write batch can be cut at.
#include "storage/wal_check.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "storage/crc32c.h"

namespace freshet::storage {
namespace {

constexpr size_t kBlock = 32768;
constexpr size_t kHeader = 7;

template <typename T>
void AppendFixed(T value, std::string* out) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out->append(bytes, sizeof(T));
}

// Appends a record as RocksDB's log writer does: in parts that never cross a block.
void AppendRecord(const std::string& payload, std::string* log) {
  size_t done = 0;
  bool first = true;
  do {
    size_t room = kBlock - log->size() % kBlock;
    if (room < kHeader) {
      log->append(room, '\0');
      room = kBlock;
    }
    const size_t length = std::min(payload.size() - done, room - kHeader);
    const bool last = done + length == payload.size();
    const char type = first ? (last ? 1 : 2) : (last ? 4 : 3);
    std::string checked(1, type);
    checked += payload.substr(done, length);
    const uint32_t crc = Crc32c(0, checked);
    AppendFixed<uint32_t>((crc >> 15 | crc << 17) + 0xA282EAD8U, log);
    AppendFixed<uint16_t>(static_cast<uint16_t>(length), log);
    *log += checked;
    done += length;
    first = false;
  } while (done < payload.size());
}

std::string WriteBatch(uint64_t sequence, uint32_t changes, size_t bytes) {
  std::string batch;
  AppendFixed(sequence, &batch);
  AppendFixed(changes, &batch);
  batch.append(bytes, 'x');
  return batch;
}

TEST(WalCheck, ReadsBatchesWhoseHeaderLiesAcrossBlocks) {
  for (size_t room = 0; room <= 60; ++room) {
    std::string log;
    AppendRecord(WriteBatch(100, 5, kBlock - 2 * kHeader - 12 + kHeader - room), &log);
    ASSERT_EQ(log.size(), kBlock - room);
    AppendRecord(WriteBatch(105, 3, 2 * kBlock), &log);
    AppendRecord(WriteBatch(108, 2, 10), &log);
    const WalReading reading = ReadLog(log, LogKind::kWal);
    EXPECT_FALSE(reading.faulty) << "room " << room << ": " << reading.fault.what;
    EXPECT_EQ(reading.contents.records, 3u);
    EXPECT_EQ(reading.contents.first_sequence, 100u);
    EXPECT_EQ(reading.contents.next_sequence, 110u);
  }
}

TEST(WalCheck, RefusesRecordsThatAreTooShortForABatch) {
  for (size_t bytes = 1; bytes < 12; ++bytes) {
    std::string log;
    AppendRecord(std::string(bytes, 'x'), &log);
    const WalReading reading = ReadLog(log, LogKind::kWal);
    EXPECT_TRUE(reading.faulty);
    EXPECT_FALSE(reading.fault.torn);
    EXPECT_FALSE(ReadLog(log, LogKind::kManifest).faulty);
  }
}

}  // namespace
}  // namespace freshet::storage
