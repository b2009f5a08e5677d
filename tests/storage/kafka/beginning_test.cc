// Tests that a log without its beginning fills no store, and that no server appends a new beginning
// to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "storage/internal/keys.h"
#include "storage/internal/records.h"
#include "storage/kafka/topic_watch.h"
#include "tests/storage/kafka/mock_kafka.h"
#include "tests/storage/kafka/node.h"
#include "tests/storage/kafka/said.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using storage::Family;
using storage::MetaKey;
using storage::MetaKeyOf;
using testing::Contains;
using testing::HasSubstr;

class BeginningTest : public testing::Test {
 protected:
  BeginningTest() {
    StatusOr<std::unique_ptr<KafkaLog>> log = KafkaLog::Open(kafka_.options());
    EXPECT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
    EXPECT_TRUE(log_->Own(0).ok());
  }
  void Append(Family family, const std::string& key, const std::string& value) {
    const LogRow row{.family = family, .key = key, .value = value};
    const Status status = log_->Append(0, {&row, 1}).status();
    ASSERT_TRUE(status.ok()) << status;
  }
  void AppendFormat() {
    const std::string key = MetaKeyOf(MetaKey::kLogFormat, 0);
    std::string value;
    storage::EncodeNumber(key, storage::kFormatVersion, &value);
    Append(Family::kMeta, key, value);
  }
  // Appends more than the five million bytes of a partition that the mock brokers keep, so that
  // they drop the first rows.
  void AppendUntilTheBeginningIsForgotten() {
    for (int i = 0; i < 12; ++i) {
      Append(Family::kPages, std::to_string(i), std::string(500'000, 'x'));
    }
  }
  [[nodiscard]] uint64_t Rows(uint64_t from) {
    uint64_t rows = 0;
    EXPECT_TRUE(log_->Read(0, from, std::nullopt,
                           [&](const LogRow&, uint64_t) {
                             ++rows;
                             return absl::OkStatus();
                           })
                    .ok());
    return rows;
  }
  void ExpectRefused() {
    const Node node = StartNode(dir_ / "db", kafka_);
    EXPECT_TRUE(absl::IsDataLoss(node.status)) << node.status;
    EXPECT_THAT(std::string(node.status.message()),
                HasSubstr("partition 0 of mock.changes has lost its beginning"));
  }

  MockKafka kafka_{"mock", 1};
  std::unique_ptr<KafkaLog> log_;
  TempDir dir_;
};

TEST_F(BeginningTest, ALogWhoseFirstRowsAreGoneIsRefusedAndLeftAsItIs) {
  AppendFormat();
  AppendUntilTheBeginningIsForgotten();
  const StatusOr<uint64_t> end =
      log_->Append(0, std::vector<LogRow>{{.family = Family::kPages, .key = "last", .value = "1"}});
  ASSERT_TRUE(end.ok()) << end.status();
  ExpectRefused();
  ExpectRefused();
  EXPECT_EQ(Rows(*end), 0U) << "somebody has appended a beginning";
}

// The log was copied without its first rows, so its offsets begin at zero.
TEST_F(BeginningTest, ALogThatDoesNotBeginWithItsFormatIsRefusedAndLeftAsItIs) {
  Append(Family::kPages, "a", "1");
  AppendFormat();
  ExpectRefused();
  ExpectRefused();
  EXPECT_EQ(Rows(0), 2U);
}

// After a change of format, the first row that compaction leaves can be the birth of the log
// instead of its format.
TEST_F(BeginningTest, ALogThatBeginsWithItsBirthIsWhole) {
  const std::string birth = MetaKeyOf(MetaKey::kLogBirth, 0);
  std::string value;
  storage::EncodeNumber(birth, 4711, &value);
  Append(Family::kMeta, birth, value);
  AppendFormat();
  for (int start = 0; start < 2; ++start) {
    const Node node = StartNode(dir_ / "db", kafka_);
    EXPECT_TRUE(node.status.ok()) << node.status;
  }
}

TEST_F(BeginningTest, ServersThatRunAreToldWhenTheBeginningGoes) {
  AppendFormat();
  Said said;
  const kafka::TopicWatch watch(said.By(kafka_.options()), std::chrono::milliseconds(0),
                                std::chrono::milliseconds(10));
  const auto told = [&](const char* what) {
    const auto matches = Contains(HasSubstr(what));
    (void)Eventually([&] { return testing::Matches(matches)(said.lines()); });
    EXPECT_THAT(said.lines(), matches);
  };
  told("its settings are not known");
  EXPECT_THAT(said.lines(), testing::Not(Contains(HasSubstr("lost its beginning"))));
  AppendUntilTheBeginningIsForgotten();
  told("looking at the topics of the cluster again: partition 0 of mock.changes has lost its");
}

}  // namespace
}  // namespace freshet
