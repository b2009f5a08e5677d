// Tests that no row exceeds the limit of the log, however much a store writes at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/url.h"
#include "core/estimate/site_table.h"
#include "core/schedule/leases.h"
#include "fmt/format.h"
#include "server/base/limits.h"
#include "storage/internal/keys.h"
#include "storage/internal/records.h"
#include "tests/storage/kafka/mock_kafka.h"
#include "tests/storage/kafka/node.h"
#include "tests/storage/store_model.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using testing::HasSubstr;

class LargeRowsTest : public testing::Test {
 protected:
  Node Start(const std::string& dir, const MockKafka& kafka) {
    return StartNode(dir_ / dir, kafka);
  }

  TempDir dir_;
};

// Returns a page that was crawled for 100 days, with signals of this many classes.
PagePosterior CrawledPage(int classes) {
  PagePosterior page{.changes = 1,
                     .exposure = 100,
                     .observations = 1,
                     .told_changes = 0.5,
                     .expected_changes = 1,
                     .untold_changes = 0.5,
                     .untold_exposure = 1,
                     .false_exposure = 100};
  for (int i = 0; i < classes; ++i) {
    page.classes.push_back({.source_class = SourceClass(static_cast<uint8_t>(4 * i)),
                            .recall = 0.5,
                            .false_rate = 0.001,
                            .prior = {.mean = 0.001, .shape = 0.5},
                            .false_signals = 0.1,
                            .signals = 0.6,
                            .truth = 0.5,
                            .seen = true});
  }
  return page;
}

// Returns the model that a shard learns from this many hosts.
std::string Learned(uint16_t shard, int hosts) {
  SiteTable table;
  table.Begin();
  for (int i = 0; i < hosts; ++i) {
    const std::string host = fmt::format("host-{}-of-shard-{}.example.org", i, shard);
    table.Collect(host, MakePageNumber(SlotOfHost(host), static_cast<uint64_t>(i) + 1),
                  CrawledPage(4));
  }
  table.EndCollecting();
  return table.Learn(table.Sums(), 1, false).text;
}

TEST_F(LargeRowsTest, WhatTwentyThousandHostsTeachIsKept) {
  constexpr uint16_t kShards = 4;
  MockKafka kafka("mock", kShards);
  std::vector<EpochRecord> epochs;
  {
    const Node node = Start("db", kafka);
    ASSERT_TRUE(node.status.ok()) << node.status;
    for (uint16_t shard = 0; shard < kShards; ++shard) {
      Changes changes{.shard = shard};
      changes.epoch = {.shard = shard,
                       .number = 1,
                       .finished = Instant::FromMicros(1'000'000),
                       .site_model = Learned(shard, 20'000 / kShards)};
      ASSERT_GT(changes.epoch->site_model.size(), 1'000'000U) << "one message holds it";
      const Status committed = node.store->Commit(changes);
      ASSERT_TRUE(committed.ok()) << committed;
      epochs.push_back(*changes.epoch);
    }
  }
  const Node lost = Start("elsewhere", kafka);
  ASSERT_TRUE(lost.status.ok()) << lost.status;
  const StatusOr<GlobalRecords> globals = lost.store->LoadGlobals();
  ASSERT_TRUE(globals.ok()) << globals.status();
  EXPECT_EQ(globals->epochs, epochs);
  SiteTable table;
  EXPECT_TRUE(table.Restore(globals->epochs[3].site_model).ok());
  EXPECT_EQ(table.size(), limits::kMaxSiteModels + 1);
}

// Makes a commit with the maximum number of events, each with the largest possible lease.
TEST_F(LargeRowsTest, LeasesWithLongNamesAndManySignalsAreKept) {
  MockKafka kafka("mock", 1);
  StoreContents expected;
  {
    const Node node = Start("db", kafka);
    ASSERT_TRUE(node.status.ok()) << node.status;
    Changes changes;
    for (size_t i = 1; i <= limits::kMaxEventsPerCommit; ++i) {
      LeaseRecord lease{.id = MakeLeaseId(i, Slot(7)), .page = MakePageNumber(Slot(7), i)};
      lease.worker = fmt::format("{:0>{}}", i, limits::kMaxWorkerNameBytes);
      lease.client = fmt::format("{:x>{}}", i, limits::kMaxWorkerNameBytes);
      lease.assigned = Instant::FromMicros(static_cast<int64_t>(i) * 1'000'003);
      lease.deadline = lease.assigned + Duration::Seconds(60);
      for (int n = 0; n < limits::kMaxSignalsDuringLease; ++n) {
        lease.signals.push_back({lease.assigned, SourceClass(static_cast<uint8_t>(n))});
      }
      expected.leases[lease.id] = lease;
      changes.leases.push_back(lease);
    }
    const Status committed = node.store->Commit(changes);
    ASSERT_TRUE(committed.ok()) << committed;
  }
  const Node lost = Start("elsewhere", kafka);
  ASSERT_TRUE(lost.status.ok()) << lost.status;
  const StatusOr<StoreContents> found = ReadContents(*lost.store);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(expected.DifferenceFrom(*found), "");
}

TEST_F(LargeRowsTest, ARowThatNoLogTakesIsRefusedForGoodAndEndsNothing) {
  MockKafka kafka("mock", 1);
  const auto log = KafkaLog::Open(kafka.options());
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_TRUE((*log)->Own(0).ok());
  const std::string value(storage::kMaxRowBytes, 'x');
  const LogRow row{.family = storage::Family::kPages, .key = "a", .value = value};
  const Status refused = (*log)->Append(0, {&row, 1}).status();
  EXPECT_TRUE(absl::IsInternal(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("has 900001 bytes, at most 900000 fit"));
  EXPECT_EQ((*log)->Stats().aborted, 0U);
  const LogRow longest{
      .family = storage::Family::kPages, .key = "a", .value = std::string_view(value).substr(1)};
  EXPECT_TRUE((*log)->Append(0, {&longest, 1}).ok());
  EXPECT_TRUE((*log)->health().ok());
}

// A server continues a log of the previous format. Readers of the log learn that later rows have
// another format.
TEST_F(LargeRowsTest, ALogOfTheFormatBeforeIsTakenInAndRaised) {
  MockKafka kafka("mock", 1);
  const std::string format = storage::MetaKeyOf(storage::MetaKey::kLogFormat, 0);
  {
    const auto log = KafkaLog::Open(kafka.options());
    ASSERT_TRUE(log.ok()) << log.status();
    ASSERT_TRUE((*log)->Own(0).ok());
    const std::string birth = storage::MetaKeyOf(storage::MetaKey::kLogBirth, 0);
    std::string values[2];
    storage::EncodeNumber(format, storage::kOldestLogFormat, &values[0]);
    storage::EncodeNumber(birth, 4711, &values[1]);
    const std::vector<LogRow> rows = {
        {.family = storage::Family::kMeta, .key = format, .value = values[0]},
        {.family = storage::Family::kMeta, .key = birth, .value = values[1]}};
    ASSERT_TRUE((*log)->Append(0, rows).ok());
  }
  for (int start = 0; start < 2; ++start) {
    const Node node = Start("db", kafka);
    ASSERT_TRUE(node.status.ok()) << node.status;
  }
  const auto log = KafkaLog::Open(kafka.options());
  ASSERT_TRUE(log.ok()) << log.status();
  std::vector<uint64_t> formats;
  const auto end = (*log)->Read(0, 0, std::nullopt, [&](const LogRow& row, uint64_t) {
    uint64_t number = 0;
    if (row.key != format) return absl::OkStatus();
    RETURN_IF_ERROR(storage::DecodeNumber(row.key, *row.value, &number));
    formats.push_back(number);
    return absl::OkStatus();
  });
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(formats, (std::vector<uint64_t>{storage::kOldestLogFormat, storage::kFormatVersion}));
}

}  // namespace
}  // namespace freshet
