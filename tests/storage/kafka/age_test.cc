// Tests how long a store of a cluster may have been offline before it must read the log again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "core/schedule/followed_changes.h"
#include "rocksdb/env.h"
#include "storage/follower.h"
#include "tests/storage/kafka/mock_kafka.h"
#include "tests/storage/kafka/node.h"
#include "tests/storage/small_store.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using testing::HasSubstr;

constexpr int64_t kHour = 3600;
constexpr int64_t kDay = 24 * kHour;

// A machine with a clock that a test sets.
class SetEnv final : public rocksdb::EnvWrapper {
 public:
  SetEnv() : EnvWrapper(Default()) {}
  const char* Name() const override { return "SetEnv"; }
  rocksdb::Status GetCurrentTime(int64_t* now) override {
    const rocksdb::Status status = target()->GetCurrentTime(now);
    *now += ahead;
    return status;
  }

  std::atomic<int64_t> ahead = 0;
};

// Moves the clock by `away` when the store begins to follow the log. After `looks` checks, lets the
// store take over the log or, if `fault` is set, makes opening fail. Owner thread only.
class AwayFollower final : public Follower {
 public:
  AwayFollower(SetEnv& env, int64_t away, int looks) : env_(env), away_(away), looks_(looks) {}
  Status CaughtUp() override { return absl::OkStatus(); }
  bool MayOwn() override {
    if (asked_++ == 0) env_.ahead += away_;
    return fault.ok() && asked_ > looks_;
  }
  bool MayOwnSoon() override { return !fault.ok() && asked_ > looks_; }
  Status Prepare(Store&) override { return fault; }
  Status Update(uint16_t, FollowedChanges) override { return absl::OkStatus(); }
  void Outdate() override {}

  Status fault;

 private:
  SetEnv& env_;
  const int64_t away_;
  const int looks_;
  int asked_ = 0;
};

class AgeTest : public testing::Test {
 protected:
  Status Open(Follower* follower = nullptr) {
    const StatusOr<std::unique_ptr<KafkaLog>> log = KafkaLog::Open(kafka_.options());
    EXPECT_TRUE(log.ok()) << log.status();
    StoreOptions options = SmallStore();
    options.truth = log->get();
    options.env = &env_;
    options.follower = follower;
    return Store::Open(dir_ / "db", options).status();
  }

  MockKafka kafka_{"mock", 1};
  SetEnv env_;
  TempDir dir_;
};

// Only the clock tells a process that it was suspended, or that no broker answered for a while.
TEST_F(AgeTest, AStandbyThatWasAwayForAWeekAsAProcessIsRefusedHoweverSoonItsTurnComes) {
  for (const int looks : {0, 1, 12, 25}) {
    AwayFollower follower(env_, 7 * kDay, looks);
    const Status away = Open(&follower);
    EXPECT_TRUE(absl::IsFailedPrecondition(away)) << looks << ": " << away;
    EXPECT_THAT(std::string(away.message()), HasSubstr("was last written 7 days ago"));
    env_.ahead -= 7 * kDay;
  }
  AwayFollower follower(env_, 5 * kDay, 12);
  const Status back = Open(&follower);
  EXPECT_TRUE(back.ok()) << back;
}

TEST_F(AgeTest, ATimeThatIsStillToComeIsNotBelieved) {
  env_.ahead = 10 * kDay;
  ASSERT_TRUE(Open().ok());
  env_.ahead = 8 * kDay - kHour / 2;
  const Status ahead = Open();
  EXPECT_TRUE(absl::IsFailedPrecondition(ahead)) << ahead;
  EXPECT_THAT(std::string(ahead.message()), HasSubstr("was last written 48 hours from now"));
  env_.ahead = 10 * kDay;
  EXPECT_TRUE(Open().ok());
}

TEST_F(AgeTest, AClockThatWasALittleAheadMakesAStoreNoYounger) {
  env_.ahead = 10 * kHour;
  ASSERT_TRUE(Open().ok());
  // A standby follows the log, and its clock is corrected meanwhile. Then opening its store fails.
  AwayFollower follower(env_, -10 * kHour, 12);
  follower.fault = absl::CancelledError("ended");
  ASSERT_EQ(Open(&follower), follower.fault);
  env_.ahead = 6 * kDay + 5 * kHour;
  const Status old = Open();
  EXPECT_TRUE(absl::IsFailedPrecondition(old)) << old;
}

}  // namespace
}  // namespace freshet
