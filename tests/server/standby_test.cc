// Tests the state that a standby has loaded when it gets its turn.
#include "server/standby.h"

#include <gtest/gtest.h>

#include <string>

#include "fmt/format.h"
#include "server/base/system_clock.h"
#include "tests/storage/small_store.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

// A standby whose leader becomes silent when the test wants, and whose loads are numbered.
class StandbyTest : public testing::Test {
 protected:
  StandbyTest() {
    StatusOr<std::unique_ptr<Store>> store = Store::Open(dir_ / "db", SmallStore());
    EXPECT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }

  StatusOr<LoadedShards> Load(const LoadOptions& options) {
    ++loads_;
    progress_.pages = 7;
    if (during_load_) during_load_();
    options.report();
    if (*options.cancelled) return absl::CancelledError("stopped while loading");
    RETURN_IF_ERROR(fault_);
    EXPECT_TRUE(options.without_leases);
    LoadedShards loaded;
    loaded.policy_name = std::to_string(loads_);
    return loaded;
  }
  // Returns the number of the load that the turn uses; "" = none.
  std::string Taken() {
    const std::optional<LoadedShards> loaded = standby_.Take(*store_);
    return loaded ? loaded->policy_name : "";
  }

  TempDir dir_;
  std::unique_ptr<Store> store_;
  bool turn_ = false;
  bool silent_ = false;
  bool asked_for_ = false;
  std::atomic<bool> stop_ = false;
  Status fault_;
  std::function<void()> during_load_;
  int loads_ = 0;
  LoadProgress progress_;
  Standby standby_{{.stand = [] { return absl::OkStatus(); },
                    .has_turn = [this] { return turn_; },
                    .other_is_silent = [this] { return silent_; },
                    .is_asked_for = [this] { return asked_for_; },
                    .load = [this](Store&, const LoadOptions& how) { return Load(how); },
                    .follow =
                        [this](LoadedShards& loaded, uint16_t shard, const FollowedChanges&) {
                          if (shard > 0) loaded.policy_name += fmt::format("+{}", shard);
                          return fault_;
                        },
                    .finish =
                        [this](Store&, LoadedShards& loaded) {
                          loaded.policy_name += "!";
                          return fault_;
                        }},
                   stop_,
                   progress_};
};

TEST_F(StandbyTest, IsReadyOnlyWhileTheOtherIsSilent) {
  EXPECT_FALSE(standby_.MayOwnSoon());
  silent_ = true;
  EXPECT_TRUE(standby_.MayOwnSoon());
  ASSERT_TRUE(standby_.Prepare(*store_).ok());
  EXPECT_EQ(progress_.pages, 7U);
  silent_ = false;
  EXPECT_FALSE(standby_.MayOwnSoon());
  EXPECT_EQ(progress_.pages, 0U);
  EXPECT_EQ(Taken(), "");
}

TEST_F(StandbyTest, TakesWhatItHasLoadedLast) {
  silent_ = true;
  ASSERT_TRUE(standby_.Prepare(*store_).ok());
  standby_.Outdate();
  EXPECT_EQ(progress_.pages, 0U);
  ASSERT_TRUE(standby_.Prepare(*store_).ok());
  // Once the standby has the turn, it no longer matters whether the leader is silent.
  silent_ = false;
  turn_ = true;
  EXPECT_TRUE(standby_.MayOwn());
  EXPECT_TRUE(standby_.MayOwnSoon());
  EXPECT_EQ(Taken(), "2!");
  // The standby does not load again immediately.
  EXPECT_FALSE(standby_.MayOwnSoon());
  EXPECT_EQ(Taken(), "");
}

TEST_F(StandbyTest, EndsALoadThatIsNotNeeded) {
  silent_ = true;
  during_load_ = [this] { silent_ = false; };
  EXPECT_TRUE(standby_.Prepare(*store_).ok());
  EXPECT_EQ(Taken(), "");
  EXPECT_EQ(progress_.pages, 0U);
  // A requested stop also ends a load.
  during_load_ = [this] { stop_ = silent_ = true; };
  EXPECT_TRUE(standby_.Prepare(*store_).ok());
  EXPECT_EQ(Taken(), "");
  // Getting the turn does not end a load.
  during_load_ = [this] {
    stop_ = silent_ = false;
    turn_ = true;
  };
  EXPECT_TRUE(standby_.Prepare(*store_).ok());
  EXPECT_EQ(Taken(), "3!");
}

TEST_F(StandbyTest, ALoadThatWasBrokenOffBeginsAnew) {
  silent_ = true;
  during_load_ = [this] { silent_ = false; };
  EXPECT_TRUE(standby_.Prepare(*store_).ok());
  // The leader is silent again before MayOwnSoon() is called. The interrupted load does not count
  // as prepared.
  silent_ = true;
  EXPECT_FALSE(standby_.MayOwnSoon());
  EXPECT_TRUE(standby_.MayOwnSoon());
  during_load_ = nullptr;
  EXPECT_TRUE(standby_.Prepare(*store_).ok());
  EXPECT_EQ(Taken(), "2!");
}

TEST_F(StandbyTest, LoadsWhileTheOtherServesIfItIsAskedToAndFollowsTheLog) {
  EXPECT_FALSE(standby_.MayOwnSoon());
  EXPECT_FALSE(standby_.loaded());
  asked_for_ = true;
  EXPECT_TRUE(standby_.MayOwnSoon());
  EXPECT_TRUE(standby_.Update(0, {}).ok()) << "nothing is loaded yet";
  ASSERT_TRUE(standby_.Prepare(*store_).ok());
  EXPECT_FALSE(standby_.loaded()) << "the log has not been read since";
  EXPECT_TRUE(standby_.Update(3, {}).ok());
  EXPECT_TRUE(standby_.MayOwnSoon());
  EXPECT_TRUE(standby_.loaded());
  EXPECT_EQ(Taken(), "1+3!");
  // The loaded state is dropped when nobody asks for it any more.
  ASSERT_TRUE(standby_.Prepare(*store_).ok());
  asked_for_ = false;
  EXPECT_FALSE(standby_.MayOwnSoon());
  EXPECT_FALSE(standby_.loaded());
  EXPECT_EQ(Taken(), "");
}

TEST_F(StandbyTest, WhatCannotFollowIsLoadedAnew) {
  asked_for_ = true;
  ASSERT_TRUE(standby_.Prepare(*store_).ok());
  fault_ = absl::ResourceExhaustedError("a shard has at most 2 pages");
  EXPECT_EQ(standby_.Update(0, {}), fault_);
  standby_.Outdate();
  EXPECT_FALSE(standby_.loaded());
  EXPECT_EQ(Taken(), "");
  // A state whose leases cannot be read is not used either.
  fault_ = absl::OkStatus();
  ASSERT_TRUE(standby_.Prepare(*store_).ok());
  fault_ = absl::DataLossError("leases: too short");
  EXPECT_EQ(Taken(), "");
  EXPECT_FALSE(standby_.loaded());
}

TEST_F(StandbyTest, WhatIsOutOfDateOrHasFailedIsLoadedAnewAfterARest) {
  asked_for_ = true;
  for (const bool fails : {false, true}) {
    EXPECT_TRUE(standby_.MayOwnSoon());
    if (fails) fault_ = absl::ResourceExhaustedError("no memory");
    ASSERT_TRUE(standby_.Prepare(*store_).ok());
    if (!fails) standby_.Outdate();
    // The first call tells the store that nothing is prepared. The standby loads again only after a
    // pause.
    EXPECT_FALSE(standby_.MayOwnSoon());
    EXPECT_FALSE(standby_.MayOwnSoon());
    if (fails) break;
    ASSERT_TRUE(Eventually([this] { return standby_.MayOwnSoon(); }));
  }
}

TEST_F(StandbyTest, LoadsAnewOnceManyRecordsWereFollowed) {
  asked_for_ = true;
  ASSERT_TRUE(standby_.Prepare(*store_).ok());
  FollowedChanges thousand;
  thousand.pages.resize(1000);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(standby_.Update(0, thousand).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(standby_.Update(0, thousand)));
}

TEST_F(StandbyTest, StandsByAllTheSameWhenItCannotLoad) {
  silent_ = true;
  fault_ = absl::ResourceExhaustedError("no memory");
  EXPECT_TRUE(standby_.Prepare(*store_).ok());
  EXPECT_EQ(Taken(), "");
  EXPECT_EQ(progress_.pages, 0U);
}

// If a standby with a damaged store still stood for the turn, it could get the turn before one that
// can serve.
TEST_F(StandbyTest, StandsByNoLongerOnceItsStoreIsDamaged) {
  silent_ = true;
  fault_ = absl::DataLossError("page 3: too short");
  EXPECT_EQ(standby_.Prepare(*store_), fault_);
  EXPECT_EQ(Taken(), "");
}

}  // namespace
}  // namespace freshet
