// Tests brokers that lose acknowledged rows and then accept other rows in their place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/schedule/followed_changes.h"
#include "rocksdb/env.h"
#include "storage/follower.h"
#include "storage/internal/keys.h"
#include "storage/internal/log_tail.h"
#include "storage/internal/records.h"
#include "tests/storage/kafka/mock_kafka.h"
#include "tests/storage/small_store.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using storage::Family;
using storage::MetaKey;
using storage::MetaKeyOf;
using testing::HasSubstr;

// A machine whose clock shows that it slept for a while.
class SleepyEnv final : public rocksdb::EnvWrapper {
 public:
  SleepyEnv() : EnvWrapper(Default()) {}
  const char* Name() const override { return "SleepyEnv"; }
  uint64_t NowMicros() override { return target()->NowMicros() + slept; }

  std::atomic<uint64_t> slept = 0;
};

// A log that a test can exchange for another one.
class ExchangedLog final : public ChangeLog {
 public:
  explicit ExchangedLog(ChangeLog& log) : log_(&log) {}
  // Exchanges the log. With `told`, the next read fails because the log ended too soon.
  void Exchange(ChangeLog& log, bool told) {
    log_ = &log;
    aborts_ = told ? 1 : 0;
  }

  [[nodiscard]] const std::string& name() const override { return log_->name(); }
  [[nodiscard]] uint32_t partitions() const override { return log_->partitions(); }
  [[nodiscard]] Status Own(uint32_t partition) override { return log_->Own(partition); }
  [[nodiscard]] StatusOr<uint64_t> Append(uint32_t partition,
                                          std::span<const LogRow> rows) override {
    return log_->Append(partition, rows);
  }
  [[nodiscard]] StatusOr<uint64_t> Read(uint32_t partition, uint64_t from,
                                        std::optional<uint64_t> end, const Visit& visit) override {
    if (aborts_-- > 0) return MakeStatus(absl::StatusCode::kAborted, "ended before {}", from);
    return log_->Read(partition, from, end, visit);
  }
  [[nodiscard]] Status health() const override { return log_->health(); }
  [[nodiscard]] ChangeLogStats Stats() const override { return log_->Stats(); }
  void StopWaiting() override { log_->StopWaiting(); }

 private:
  ChangeLog* log_;
  int aborts_ = 0;
};

// Calls `happens` at its second check, and lets the store take over the log much later. Owner
// thread only.
class LookingFollower final : public Follower {
 public:
  explicit LookingFollower(std::function<void()> happens) : happens_(std::move(happens)) {}
  Status CaughtUp() override { return absl::OkStatus(); }
  bool MayOwn() override {
    if (++looks_ == 2) happens_();
    return looks_ > 30;
  }
  bool MayOwnSoon() override { return false; }
  Status Prepare(Store&) override { return absl::OkStatus(); }
  Status Update(uint16_t, FollowedChanges) override { return absl::OkStatus(); }
  void Outdate() override {}

 private:
  const std::function<void()> happens_;
  int looks_ = 0;
};

class LostRowsTest : public testing::Test {
 protected:
  static std::unique_ptr<KafkaLog> OpenLog(const MockKafka& kafka) {
    StatusOr<std::unique_ptr<KafkaLog>> log = KafkaLog::Open(kafka.options());
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }
  static void Append(KafkaLog& log, Family family, const std::string& key,
                     const std::string& value) {
    const LogRow row{.family = family, .key = key, .value = value};
    const Status status = log.Append(0, {&row, 1}).status();
    ASSERT_TRUE(status.ok()) << status;
  }
  // Writes a log with a page for each letter of `names`, each in a separate transaction.
  static void Fill(KafkaLog& log, const std::string& names) {
    ASSERT_TRUE(log.Own(0).ok());
    std::string value;
    std::string key = MetaKeyOf(MetaKey::kLogFormat, 0);
    storage::EncodeNumber(key, storage::kFormatVersion, &value);
    Append(log, Family::kMeta, key, value);
    key = MetaKeyOf(MetaKey::kLogBirth, 0);
    storage::EncodeNumber(key, 4711, &value);
    Append(log, Family::kMeta, key, value);
    for (const char name : names) Append(log, Family::kPages, std::string(1, name), "1");
  }
  // Returns the status of a standby that reads one log and then the other.
  Status Follow(const std::string& names, const std::string& later, bool told, uint64_t slept) {
    const MockKafka one("mock", 1);
    const MockKafka another("mock", 1);
    Fill(*OpenLog(one), names);
    Fill(*OpenLog(another), later);
    const std::unique_ptr<KafkaLog> before = OpenLog(one);
    const std::unique_ptr<KafkaLog> after = OpenLog(another);
    ExchangedLog log(*before);
    SleepyEnv env;
    LookingFollower follower([&] {
      log.Exchange(*after, told);
      env.slept = slept;
    });
    StoreOptions options = SmallStore();
    options.truth = &log;
    options.env = &env;
    options.follower = &follower;
    const TempDir dir;
    return Store::Open(dir / "db", options).status();
  }
};

constexpr uint64_t kMinute = 60'000'000;

TEST_F(LostRowsTest, AStandbyThatHasRowsThatTheLogHasLostIsRefused) {
  for (const bool told : {true, false}) {
    const Status lost = Follow("abcdef", "abcxyzuvw", told, told ? 0 : kMinute);
    EXPECT_TRUE(absl::IsDataLoss(lost)) << told << ": " << lost;
    EXPECT_THAT(std::string(lost.message()),
                HasSubstr("partition 0 of mock.changes has lost rows"));
  }
}

TEST_F(LostRowsTest, ALogThatOnlySeemedToEndTooSoonIsReadOn) {
  for (const bool told : {true, false}) {
    const Status same = Follow("abcdef", "abcdefgh", told, told ? 0 : kMinute);
    EXPECT_TRUE(same.ok()) << told << ": " << same;
  }
}

TEST(LogTail, KnowsWhatIsOtherAndNotWhatItHasNotSeen) {
  storage::LogTail tail;
  EXPECT_EQ(tail.first(), std::nullopt);
  const auto row = [](std::string_view key, std::optional<std::string_view> value) {
    return LogRow{.family = Family::kPages, .key = key, .value = value};
  };
  for (uint64_t i = 0; i < 40; ++i) tail.Add(row("a", "1"), 2 * i + 1);
  EXPECT_EQ(tail.first(), 2U * 24);
  EXPECT_FALSE(tail.Contradicts(row("a", "1"), 79));
  EXPECT_TRUE(tail.Contradicts(row("a", "2"), 79));
  EXPECT_TRUE(tail.Contradicts(row("b", "1"), 79));
  EXPECT_TRUE(tail.Contradicts(row("a", std::nullopt), 79));
  EXPECT_TRUE(tail.Contradicts(row("a", ""), 79));
  EXPECT_FALSE(tail.Contradicts(row("b", "1"), 78)) << "no row was there";
  EXPECT_FALSE(tail.Contradicts(row("b", "1"), 1)) << "forgotten";
}

}  // namespace
}  // namespace freshet
