// A frontier's state on a store of its own, and a clock that stands until it is moved.
#ifndef FRESHET_TESTS_SERVER_FRONTIER_FRONTIER_FIXTURE_H_
#define FRESHET_TESTS_SERVER_FRONTIER_FRONTIER_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "server/frontier/frontier_state.h"
#include "tests/support/temp_dir.h"

namespace freshet {

// A store that waits for no disk.
inline StoreOptions QuickStore() {
  StoreOptions options;
  options.durability = Durability::kNone;
  options.reserve_bytes = 0;
  return options;
}

class FrontierFixture : public ::testing::Test {
 protected:
  static constexpr uint64_t kStart = 1'000'000;

  FrontierFixture() {
    auto opened = FrontierStore::Open(dir_ / "frontier", QuickStore());
    EXPECT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
    Load();
  }
  void Load() {
    state_ = std::make_unique<FrontierState>(*store_, FrontierLimits());
    state_->SetNow(now_);
    ASSERT_TRUE(state_->Load().ok());
  }
  void Pass(uint64_t seconds) {
    now_ += seconds;
    state_->SetNow(now_);
    state_->Expire(SIZE_MAX);
    Commit();
  }
  void Commit() { ASSERT_TRUE(state_->Commit().ok()); }
  std::vector<FrontierServed> Pull(FrontierPull pull, size_t at_a_time = 7) {
    std::vector<FrontierServed> served;
    while (!pull.over) {
      EXPECT_TRUE(state_->Pull(&pull, at_a_time, &served).ok());
      Commit();
    }
    return served;
  }

  const TempDir dir_;
  uint64_t now_ = kStart;
  std::unique_ptr<FrontierStore> store_;
  std::unique_ptr<FrontierState> state_;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_SERVER_FRONTIER_FRONTIER_FIXTURE_H_
