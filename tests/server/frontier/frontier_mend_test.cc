// Tests a server that starts after its clock ran ahead and was set back. The frontier corrects
// (mends) the stored times that are ahead.
#include <atomic>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/frontier/frontier.h"
#include "storage/frontier_verify.h"
#include "tests/server/frontier/frontier_fixture.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kMorning = 1'000'000;
constexpr uint64_t kHour = 3600;

FrontierPut Discovered(const std::string& key, const std::string& url) {
  return {.crawl = "c", .key = key, .url = url, .metadata = "m"};
}

FrontierPut Dated(const std::string& key, const std::string& url, uint64_t due) {
  return {.crawl = "c", .key = key, .url = url, .metadata = "m", .known = true, .due = due};
}

// A clock that a test sets. Thread-safe.
class MovedClock final : public Clock {
 public:
  Instant Now() override { return Instant::FromUnixSeconds(seconds_); }
  void Set(uint64_t seconds) { seconds_ = static_cast<int64_t>(seconds); }

 private:
  std::atomic<int64_t> seconds_{kMorning};
};

class FrontierMendTest : public ::testing::Test {
 protected:
  FrontierMendTest() { LoadAt(kMorning); }
  void LoadAt(uint64_t now) {
    state_.reset();
    opened_ = {};
    opened_ = StoreWithFrontier::Open(dir_ / "db", QuickStore());
    store_ = opened_.frontier.get();
    ASSERT_NE(store_, nullptr);
    state_ = std::make_unique<FrontierState>(*store_, FrontierLimits());
    state_->SetNow(now_ = now);
    ASSERT_TRUE(state_->Load().ok());
  }
  void SetNow(uint64_t now) {
    state_->SetNow(now_ = now);
    state_->Expire(SIZE_MAX);
    Commit();
  }
  void Commit() { ASSERT_TRUE(state_->Commit().ok()); }
  void Put(const std::vector<FrontierPut>& puts) {
    EXPECT_THAT(state_->Put(puts), ::testing::Each(FrontierOutcome::kOk));
    Commit();
  }
  std::multiset<std::string> Pull(uint32_t urls_per_queue = UINT32_MAX) {
    FrontierPull pull;
    pull.urls_per_queue = urls_per_queue;
    std::vector<FrontierServed> served;
    while (!pull.over) {
      EXPECT_TRUE(state_->Pull(&pull, 7, &served).ok());
      Commit();
    }
    std::multiset<std::string> urls;
    for (const FrontierServed& url : served) {
      EXPECT_EQ(url.metadata, "m");
      urls.insert(url.url);
    }
    return urls;
  }
  // Mends `most` rows at a time until all are mended. Returns the number of commits. With
  // `refused`, the first try of each commit is discarded.
  int Mend(size_t most, bool refused = false) {
    int times = 0;
    for (; state_->mend().ahead() > 0 && times < 1000; ++times) {
      if (refused) {
        EXPECT_TRUE(state_->mend().Mend(most).ok());
        state_->Discard();
      }
      EXPECT_TRUE(state_->mend().Mend(most).ok());
      Commit();
    }
    return times;
  }
  void ExpectSound() {
    const auto report = VerifyFrontier(*opened_.store);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_THAT(report->problems, IsEmpty());
  }
  // Puts twenty URLs in two queues. Then, while the clock runs ahead for an hour, puts as many
  // again, and a new queue.
  void RunAhead() {
    std::vector<FrontierPut> puts;
    for (int i = 0; i < 20; ++i) puts.push_back(Discovered(i % 2 == 0 ? "k" : "l", Name("old", i)));
    puts.push_back(Dated("k", "tomorrow", kMorning + 24 * kHour));
    puts.push_back(Dated("k", "soon", kMorning + kHour / 2 + 7));
    Put(puts);
    SetNow(kMorning + kHour);
    EXPECT_THAT(Pull(3), SizeIs(6));
    puts.clear();
    for (int i = 0; i < 20; ++i) puts.push_back(Discovered(i % 2 == 0 ? "k" : "m", Name("new", i)));
    puts.push_back(Dated("m", "later", kMorning + kHour + 50));
    Put(puts);
    SetNow(kMorning + kHour + 2);
    // Takes two of the new URLs, which are due by the clock that ran ahead.
    FrontierPull pull{.crawl = "c", .key = "m", .urls_per_queue = 2};
    std::vector<FrontierServed> served;
    EXPECT_TRUE(state_->Pull(&pull, 2, &served).ok());
    Commit();
    EXPECT_THAT(served, SizeIs(2));
  }
  static std::string Name(std::string_view kind, int i) { return fmt::format("{}-{}", kind, i); }

  const TempDir dir_;
  uint64_t now_ = 0;
  StoreWithFrontier opened_;
  FrontierStore* store_ = nullptr;
  std::unique_ptr<FrontierState> state_;
};

TEST_F(FrontierMendTest, WhatWaitsIsGivenOutSoonAfterTheStart) {
  RunAhead();
  LoadAt(kMorning + 1);
  EXPECT_EQ(state_->mend().ahead(), kHour + 1);
  EXPECT_EQ(state_->mend().queues(), 3U);
  EXPECT_LE(state_->table().ends().first(), now_ + limits::kUsualFrontierLeaseSeconds);
  EXPECT_EQ(Mend(SIZE_MAX), 1);
  SetNow(kMorning + 3);
  std::multiset<std::string> urls = Pull();
  EXPECT_THAT(urls, SizeIs(40 - 8)) << "all that is not out";
  SetNow(kMorning + 3 + limits::kUsualFrontierLeaseSeconds);
  const std::multiset<std::string> rest = Pull();
  EXPECT_THAT(rest, SizeIs(40)) << "leases last no longer than they are";
  // Dates that clients set stay as they are.
  SetNow(kMorning + kHour / 2 + 8);
  EXPECT_EQ(Pull().count("soon"), 1U);
  SetNow(kMorning + kHour + 51);
  EXPECT_EQ(Pull().count("later"), 1U);
  EXPECT_EQ(Pull().count("tomorrow"), 0U);
  ExpectSound();
}

TEST_F(FrontierMendTest, ItIsMendedOnce) {
  RunAhead();
  LoadAt(kMorning + 1);
  (void)Mend(SIZE_MAX);
  ExpectSound();
  LoadAt(kMorning + 2);
  EXPECT_EQ(state_->mend().ahead(), 0U);
  EXPECT_EQ(state_->mend().queues(), 0U);
  EXPECT_LE(state_->table().ends().first(), now_ + limits::kUsualFrontierLeaseSeconds);
  SetNow(kMorning + 3);
  EXPECT_THAT(Pull(), SizeIs(40 - 8));
  const FrontierName name = {"c", "m", "new-1"};
  const StatusOr<FrontierItem> item = state_->Read({&name, 1}).front();
  ASSERT_TRUE(item.ok());
  EXPECT_EQ(item->due, kMorning + 1);
  EXPECT_EQ(item->created, kMorning + 1);
}

// Mends in several commits, some of which are refused, with a restart in between.
TEST_F(FrontierMendTest, InPartsItComesToTheSame) {
  RunAhead();
  LoadAt(kMorning + 1);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(state_->mend().Mend(4).ok());
    Commit();
  }
  EXPECT_GT(state_->mend().ahead(), 0U);
  Put({Discovered("k", "between")});
  ASSERT_TRUE(state_->mend().Mend(4).ok());
  LoadAt(kMorning + 1);
  EXPECT_EQ(state_->mend().ahead(), kHour + 1) << "something is left";
  EXPECT_GT(Mend(1, /*refused=*/true), 10);
  SetNow(kMorning + 3);
  EXPECT_THAT(Pull(), SizeIs(41 - 8));
  ExpectSound();
}

// Queues are deleted while the frontier is mended. One of them is the queue that the mending has
// reached.
TEST_F(FrontierMendTest, GoesOnBehindWhatIsDeletedMeanwhile) {
  RunAhead();
  LoadAt(kMorning + 1);
  for (const char* key : {"k", "l", "nothing"}) {
    ASSERT_TRUE(state_->mend().Mend(2).ok());
    Commit();
    (void)state_->DeleteQueue("c", key);
    Commit();
  }
  (void)Mend(2);
  SetNow(kMorning + 3);
  EXPECT_THAT(Pull(), SizeIs(10 - 2));
  ExpectSound();
  LoadAt(kMorning + 4);
  EXPECT_EQ(state_->mend().ahead(), 0U);
}

// The clocks of two servers of a cluster differ a little when one takes over from the other.
// Nothing is mended for this.
TEST_F(FrontierMendTest, ClocksDifferALittle) {
  Put({Discovered("k", "a")});
  SetNow(kMorning + 1);
  EXPECT_THAT(Pull(), SizeIs(1));
  LoadAt(kMorning);
  EXPECT_EQ(state_->mend().ahead(), 0U);
}

// Earlier releases did not store the latest time of the clock.
TEST_F(FrontierMendTest, AnOlderReleaseToldByItsQueuesWhatTheClockHadShown) {
  RunAhead();
  FrontierBatch batch(*store_);
  batch.PutSettings({});
  ASSERT_TRUE(store_->Commit(batch).ok());
  LoadAt(kMorning + 1);
  EXPECT_EQ(state_->mend().ahead(), kHour + 1);
  (void)Mend(SIZE_MAX);
  SetNow(kMorning + 3);
  EXPECT_THAT(Pull(), SizeIs(40 - 8));
}

// The whole frontier is mended without any call, and this is logged.
TEST(FrontierAhead, IsMendedByItselfAndSaid) {
  const TempDir dir;
  MovedClock clock;
  const auto open = [&] {
    OwnFrontier own = OwnFrontier::Open(dir / "db", clock);
    own.frontier->Start([](const Status& status) { ADD_FAILURE() << status; });
    return own;
  };
  OwnFrontier own = open();
  clock.Set(kMorning + kHour);
  std::promise<void> put;
  (void)own.frontier->Put({Discovered("k", "a"), Discovered("l", "b")},
                          [&put](const auto&) { put.set_value(); });
  put.get_future().wait();
  own.Close();
  clock.Set(kMorning + 1);
  testing::internal::CaptureStderr();
  own = open();
  const auto given = [&own] {
    auto pull = std::make_shared<FrontierPull>();
    std::promise<size_t> urls;
    own.frontier->Pull(pull, 10, [&urls](const auto& served) { urls.set_value(served.size()); });
    return urls.get_future().get();
  };
  EXPECT_EQ(given(), 2U);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said,
              testing::HasSubstr("times that are later than the clock shows, by up to 3599 s"));
  own.Close();
  testing::internal::CaptureStderr();
  own = open();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty()) << "it is mended";
}

}  // namespace
}  // namespace freshet
