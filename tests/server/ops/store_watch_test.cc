// Tests messages about a store that cannot be written: who gets them, and how often.
#include "server/ops/store_watch.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/api/status.h"

namespace freshet {
namespace {

class StoreWatchTest : public ::testing::Test {
 protected:
  void Look(const Status& failure) {
    now_ = now_ + Duration::Seconds(1);
    watch_.Look(failure, {}, now_);
  }

  Health health_;
  std::vector<absl::StatusCode> told_;
  StoreWatch watch_{health_, [this](const Status& why) { told_.push_back(why.code()); }};
  Instant now_ = Instant::FromMicros(1'700'000'000'000'000);
};

TEST_F(StoreWatchTest, TellsEachChangeOnce) {
  using enum absl::StatusCode;
  const Status full = MakeStatus(kResourceExhausted, "4711 bytes are free");
  for (int i = 0; i < 5; ++i) Look(absl::OkStatus());
  EXPECT_TRUE(told_.empty());
  for (int i = 0; i < 200; ++i) Look(full);
  EXPECT_EQ(told_, std::vector{kResourceExhausted});
  EXPECT_TRUE(health_.full());
  EXPECT_FALSE(health_.failed());
  for (int i = 0; i < 5; ++i) Look(absl::OkStatus());
  EXPECT_EQ(told_, (std::vector{kResourceExhausted, kOk}));
  EXPECT_FALSE(health_.full());
}

TEST_F(StoreWatchTest, AFailureIsForGood) {
  using enum absl::StatusCode;
  Look(MakeStatus(kDataLoss, "a row is damaged"));
  Look(absl::OkStatus());
  Look(MakeStatus(kResourceExhausted, "full"));
  EXPECT_EQ(told_, std::vector{kUnavailable});
  EXPECT_TRUE(health_.failed());
  EXPECT_FALSE(health_.full());
}

TEST(FailureKind, IsOneOfFew) {
  EXPECT_EQ(FailureKind(absl::OkStatus()), "");
  EXPECT_EQ(FailureKind(absl::ResourceExhaustedError("1 bytes are free")), "disk_full");
  EXPECT_EQ(FailureKind(absl::DataLossError("x")), "damaged");
  EXPECT_EQ(FailureKind(absl::UnavailableError("x")), "write_failed");
  EXPECT_EQ(FailureKind(absl::InternalError("x")), "write_failed");
}

}  // namespace
}  // namespace freshet
