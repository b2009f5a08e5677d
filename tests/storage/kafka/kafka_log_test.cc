#include "storage/kafka/kafka_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "tests/storage/kafka/mock_kafka.h"
#include "tests/storage/kafka/said.h"

namespace freshet {
namespace {

using storage::Family;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

LogRow Row(std::string_view key, std::string_view value) {
  return {.family = Family::kPages, .key = key, .value = value};
}

std::unique_ptr<KafkaLog> OpenLog(const KafkaOptions& options) {
  StatusOr<std::unique_ptr<KafkaLog>> log = KafkaLog::Open(options);
  EXPECT_TRUE(log.ok()) << log.status();
  return log.ok() ? *std::move(log) : nullptr;
}

// A log that owns both partitions.
std::unique_ptr<KafkaLog> Owner(const KafkaOptions& options) {
  std::unique_ptr<KafkaLog> log = OpenLog(options);
  for (uint32_t i = 0; i < options.partitions; ++i) EXPECT_TRUE(log->Own(i).ok());
  return log;
}

// Returns the keys and values from offset `from` on; "-" = removed.
std::vector<std::pair<std::string, std::string>> RowsOf(KafkaLog& log, uint32_t partition,
                                                        uint64_t from = 0) {
  std::vector<std::pair<std::string, std::string>> rows;
  uint64_t last = from;
  const StatusOr<uint64_t> end =
      log.Read(partition, from, std::nullopt, [&](const LogRow& row, uint64_t next) {
        EXPECT_EQ(row.family, Family::kPages);
        EXPECT_GT(next, last);
        last = next;
        rows.emplace_back(row.key, row.value.value_or("-"));
        return absl::OkStatus();
      });
  EXPECT_TRUE(end.ok()) << end.status();
  if (end.ok()) {
    EXPECT_GE(*end, last);
  }
  return rows;
}

TEST(KafkaLogTest, WhatIsAppendedIsReadByAnotherInOrderWithRemovals) {
  MockKafka kafka;
  const auto log = Owner(kafka.options());
  const std::vector<LogRow> first = {Row("a", "1"), Row(std::string_view("\0b", 2), "")};
  ASSERT_TRUE(log->Append(1, first).ok());
  const std::vector<LogRow> second = {
      {.family = Family::kPages, .key = "a", .value = std::nullopt}};
  ASSERT_TRUE(log->Append(1, second).ok());

  const auto other = OpenLog(kafka.options());
  EXPECT_THAT(RowsOf(*other, 1),
              ElementsAre(Pair("a", "1"), Pair(std::string("\0b", 2), ""), Pair("a", "-")));
  EXPECT_THAT(RowsOf(*other, 0), IsEmpty());
  EXPECT_EQ(log->Stats().transactions, 2U);
  EXPECT_EQ(log->Stats().rows, 3U);
  EXPECT_TRUE(log->health().ok());
}

TEST(KafkaLogTest, ReadingOnFromTheOffsetOfACommitGivesOnlyWhatCameLater) {
  MockKafka kafka;
  const auto log = Owner(kafka.options());
  const std::vector<LogRow> first = {Row("a", "1"), Row("b", "2")};
  const StatusOr<uint64_t> end = log->Append(0, first);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_THAT(RowsOf(*log, 0, *end), IsEmpty());
  const std::vector<LogRow> second = {Row("c", "3")};
  ASSERT_TRUE(log->Append(0, second).ok());
  EXPECT_THAT(RowsOf(*log, 0, *end), ElementsAre(Pair("c", "3")));
}

TEST(KafkaLogTest, WhoFollowsIsGivenWhatCameSinceAndThenOwnsThePartition) {
  MockKafka kafka;
  const auto log = Owner(kafka.options());
  const auto follower = OpenLog(kafka.options());
  uint64_t at = 0;
  std::string followed;
  const auto follow = [&] {
    const StatusOr<uint64_t> end =
        follower->Read(0, at, std::nullopt, [&](const LogRow& row, uint64_t) {
          followed += row.key;
          return absl::OkStatus();
        });
    ASSERT_TRUE(end.ok()) << end.status();
    at = *end;
  };
  follow();  // the log is empty
  follow();
  for (const std::string key : {"a", "b", "c"}) {
    ASSERT_TRUE(log->Append(0, std::vector<LogRow>{Row(key, "1")}).ok());
    follow();
    follow();
    EXPECT_TRUE(followed.ends_with(key)) << followed;
  }
  EXPECT_EQ(followed, "abc");
  EXPECT_EQ(follower->Stats().rows_read, 3U);
  ASSERT_TRUE(log->Append(0, std::vector<LogRow>{Row("d", "1")}).ok());
  ASSERT_TRUE(follower->Own(0).ok());
  follow();
  EXPECT_EQ(followed, "abcd");
  ASSERT_TRUE(follower->Append(0, std::vector<LogRow>{Row("e", "1")}).ok());
  EXPECT_THAT(RowsOf(*follower, 0, at), ElementsAre(Pair("e", "1")));
}

// A read must end even if others keep appending. It must not wait for a pause between their
// appends.
TEST(KafkaLogTest, WhoReadsComesToTheEndWhileOthersGoOnAppending) {
  MockKafka kafka;
  const auto log = Owner(kafka.options());
  std::atomic<bool> over = false;
  auto appends = std::async(std::launch::async, [&] {
    int appended = 0;
    for (; !over; ++appended) {
      EXPECT_TRUE(log->Append(0, std::vector<LogRow>{Row(std::to_string(appended), "1")}).ok());
    }
    return appended;
  });
  const auto follower = OpenLog(kafka.options());
  const absl::Cleanup end_appending = [&over] { over = true; };
  uint64_t at = 0;
  for (int i = 0; i < 5; ++i) {
    auto read = std::async(std::launch::async, [&] {
      uint64_t last = at;
      return follower->Read(0, at, std::nullopt, [&last](const LogRow&, uint64_t next) {
        EXPECT_GT(next, last);
        last = next;
        return absl::OkStatus();
      });
    });
    const bool returned = read.wait_for(std::chrono::minutes(1)) == std::future_status::ready;
    EXPECT_TRUE(returned);
    if (!returned) over = true;
    const StatusOr<uint64_t> end = read.get();
    ASSERT_TRUE(end.ok()) << end.status();
    EXPECT_GE(*end, at);
    at = *end;
  }
  EXPECT_FALSE(over);
  over = true;
  EXPECT_GE(appends.get(), 5);
}

TEST(KafkaLogTest, WhoOwnsAPartitionReadsUntilItMeetsItsOwnRow) {
  MockKafka kafka;
  const auto log = Owner(kafka.options());
  const auto next = OpenLog(kafka.options());
  ASSERT_TRUE(log->Append(0, std::vector<LogRow>{Row("a", "1")}).ok());
  ASSERT_TRUE(next->Own(0).ok());
  const StatusOr<uint64_t> own = next->Append(0, std::vector<LogRow>{Row("mine", "1")});
  ASSERT_TRUE(own.ok()) << own.status();
  std::vector<std::string> keys;
  const StatusOr<uint64_t> end = next->Read(0, 0, *own, [&](const LogRow& row, uint64_t) {
    keys.emplace_back(row.key);
    return absl::OkStatus();
  });
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(*end, *own);
  EXPECT_THAT(keys, ElementsAre("a", "mine"));
}

TEST(KafkaLogTest, AReaderThatWasRefusedARowReadsItAgain) {
  MockKafka kafka;
  const auto log = Owner(kafka.options());
  ASSERT_TRUE(log->Append(0, std::vector<LogRow>{Row("a", "1")}).ok());
  const auto follower = OpenLog(kafka.options());
  ASSERT_THAT(RowsOf(*follower, 0), ElementsAre(Pair("a", "1")));
  const StatusOr<uint64_t> refused = follower->Read(
      0, 0, std::nullopt,
      [&](const LogRow&, uint64_t) { return MakeStatus(absl::StatusCode::kAborted, "no room"); });
  EXPECT_TRUE(absl::IsAborted(refused.status())) << refused.status();
  EXPECT_THAT(RowsOf(*follower, 0), ElementsAre(Pair("a", "1")));
}

TEST(KafkaLogTest, AnOffsetBeyondTheEndIsDataLoss) {
  MockKafka kafka;
  const auto log = Owner(kafka.options());
  const StatusOr<uint64_t> end =
      log->Read(0, 1000, std::nullopt, [](const LogRow&, uint64_t) { return absl::OkStatus(); });
  EXPECT_TRUE(absl::IsDataLoss(end.status())) << end.status();
}

TEST(KafkaLogTest, AVisitThatFailsEndsTheReading) {
  MockKafka kafka;
  const auto log = Owner(kafka.options());
  const std::vector<LogRow> rows = {Row("a", "1"), Row("b", "2")};
  ASSERT_TRUE(log->Append(0, rows).ok());
  int seen = 0;
  const StatusOr<uint64_t> end = log->Read(0, 0, std::nullopt, [&](const LogRow&, uint64_t) {
    ++seen;
    return MakeStatus(absl::StatusCode::kAborted, "enough");
  });
  EXPECT_TRUE(absl::IsAborted(end.status()));
  EXPECT_EQ(seen, 1);
}

TEST(KafkaLogTest, WhoIsFencedAppendsNothingMoreToThatPartition) {
  MockKafka kafka;
  const auto log = Owner(kafka.options());
  kafka.FailNext(MockKafka::kEndTxn, RD_KAFKA_RESP_ERR_PRODUCER_FENCED);
  const std::vector<LogRow> rows = {Row("a", "1")};
  const StatusOr<uint64_t> fenced = log->Append(0, rows);
  EXPECT_TRUE(absl::IsUnavailable(fenced.status())) << fenced.status();
  EXPECT_THAT(std::string(fenced.status().message()), HasSubstr("another server owns partition 0"));
  EXPECT_EQ(log->Append(0, rows).status(), fenced.status());
  EXPECT_EQ(log->health(), fenced.status());
  EXPECT_TRUE(log->Append(1, rows).ok());  // the other partition is not affected
}

TEST(KafkaLogTest, AnAbortedTransactionMayBeTriedAgain) {
  MockKafka kafka;
  const auto log = Owner(kafka.options());
  kafka.FailNext(MockKafka::kEndTxn, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  const std::vector<LogRow> rows = {Row("a", "1")};
  const StatusOr<uint64_t> aborted = log->Append(0, rows);
  EXPECT_TRUE(absl::IsResourceExhausted(aborted.status())) << aborted.status();
  EXPECT_EQ(log->Stats().aborted, 1U);
  EXPECT_TRUE(log->Append(0, rows).ok());
}

TEST(KafkaLogTest, WhileTheBrokerIsAwayNothingReturnsAndAfterwardsItGoesOn) {
  MockKafka kafka;
  const auto log = Owner(kafka.options());
  const std::vector<LogRow> rows = {Row("a", "1")};
  ASSERT_TRUE(log->Append(0, rows).ok());
  kafka.Down();
  auto waits = std::async(std::launch::async, [&] { return log->Append(0, rows); });
  EXPECT_EQ(waits.wait_for(std::chrono::milliseconds(700)), std::future_status::timeout);
  kafka.Up();
  const StatusOr<uint64_t> end = waits.get();
  EXPECT_TRUE(end.ok()) << end.status();
}

TEST(KafkaLogTest, StopWaitingEndsWhatWaitsForABrokerThatIsAway) {
  MockKafka kafka;
  const auto log = Owner(kafka.options());
  kafka.Down();
  const std::vector<LogRow> rows = {Row("a", "1")};
  auto waits = std::async(std::launch::async, [&] { return log->Append(0, rows).status(); });
  log->StopWaiting();
  EXPECT_TRUE(absl::IsCancelled(waits.get()));
}

TEST(KafkaLogTest, AnotherNumberOfPartitionsIsRefused) {
  MockKafka kafka;
  KafkaOptions options = kafka.options();
  options.partitions = 3;
  const Status status = KafkaLog::Open(options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("has 2 partitions, one a shard, and not 3"));
}

// The mock brokers do not support DescribeConfigs. Real brokers can forbid it.
TEST(KafkaLogTest, ATopicWhoseSettingsAreNotToldIsTakenWithAWarning) {
  MockKafka kafka;
  Said said;
  ASSERT_TRUE(KafkaLog::Open(said.By(kafka.options())).ok());
  EXPECT_THAT(said.warnings(),
              Contains(HasSubstr("topic mock.changes: its settings are not known")));
}

TEST(KafkaLogTest, PropertiesAreRefusedByName) {
  MockKafka kafka;
  KafkaOptions options = kafka.options();
  options.properties["acks"] = "0";
  EXPECT_THAT(std::string(KafkaLog::Open(options).status().message()),
              HasSubstr("cluster.properties.acks: is set by the server"));
  options = kafka.options();
  options.properties["no.such"] = "1";
  EXPECT_THAT(std::string(KafkaLog::Open(options).status().message()),
              HasSubstr("cluster.properties.no.such"));
}

TEST(KafkaLogTest, PropertiesThatTakeOversCannotBearAreRefused) {
  MockKafka kafka;
  const auto refusal = [&](const std::string& name, const std::string& value) {
    KafkaOptions options = kafka.options();
    options.properties[name] = value;
    return std::string(KafkaLog::Open(options).status().message());
  };
  EXPECT_THAT(refusal("group.instance.id", "a"),
              HasSubstr("cluster.properties.group.instance.id: is not allowed"));
  EXPECT_THAT(refusal("socket.timeout.ms", "10001"),
              HasSubstr("socket.timeout.ms: is 10001, and at most 10000 are allowed"));
  EXPECT_EQ(refusal("socket.timeout.ms", "10000"), "");
  EXPECT_THAT(refusal("message.max.bytes", "999999"),
              HasSubstr("message.max.bytes: is 999999, and rows need at least 1000000"));
}

TEST(KafkaLogTest, BrokersThatAllowNoLongTransactionsAreNamedAsTheReason) {
  MockKafka kafka;
  const auto log = OpenLog(kafka.options());
  kafka.Fail(MockKafka::kInitProducerId, RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT);
  const Status owned = log->Own(0);
  EXPECT_TRUE(absl::IsFailedPrecondition(owned)) << owned;
  EXPECT_THAT(std::string(owned.message()), HasSubstr("raise their transaction.max.timeout.ms"));
}

TEST(KafkaLogTest, WithoutBrokersOpeningSaysSoInTime) {
  KafkaOptions options{.cluster = "c", .brokers = "127.0.0.1:1", .partitions = 1};
  options.open_patience = std::chrono::milliseconds(200);
  const Status status = KafkaLog::Open(options).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("cluster.brokers: 127.0.0.1:1"));
}

}  // namespace
}  // namespace freshet
