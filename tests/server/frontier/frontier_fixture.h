// The state of a frontier with a separate store, and a clock that a test moves.
#ifndef FRESHET_TESTS_SERVER_FRONTIER_FRONTIER_FIXTURE_H_
#define FRESHET_TESTS_SERVER_FRONTIER_FRONTIER_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/frontier/frontier.h"
#include "server/frontier/frontier_state.h"
#include "tests/storage/store_with_frontier.h"
#include "tests/support/temp_dir.h"

namespace freshet {

// Returns options of a store that does not wait for the disk.
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
    opened_ = StoreWithFrontier::Open(dir_ / "db", QuickStore());
    store_ = opened_.frontier.get();
    Load();
  }
  void Load(const FrontierLimits& limits = FrontierLimits()) {
    state_ = std::make_unique<FrontierState>(*store_, limits);
    state_->SetNow(now_);
    ASSERT_TRUE(state_->Load().ok());
  }
  void Pass(uint64_t seconds) {
    now_ += seconds;
    state_->SetNow(now_);
    state_->Expire(SIZE_MAX);
    Commit();
  }
  void Commit() {
    ASSERT_TRUE(state_->Commit().ok());
    while (tends_ && state_->Tend().value()) ASSERT_TRUE(state_->Commit().ok());
  }
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
  StoreWithFrontier opened_;
  FrontierStore* store_ = nullptr;
  std::unique_ptr<FrontierState> state_;
  bool tends_ = true;  // Commit also calls Tend until no work is left
};

// A whole frontier with a separate store.
struct OwnFrontier {
  std::unique_ptr<Store> store;
  std::unique_ptr<Frontier> frontier;

  static OwnFrontier Open(const std::string& dir, Clock& clock,
                          const StoreOptions& options = QuickStore()) {
    OwnFrontier own;
    auto store = Store::Open(dir, options);
    EXPECT_TRUE(store.ok()) << store.status();
    if (!store.ok()) return own;
    auto frontier = Frontier::Open(**store, FrontierLimits(), clock);
    EXPECT_TRUE(frontier.ok()) << frontier.status();
    if (!frontier.ok()) return own;
    return {.store = *std::move(store), .frontier = *std::move(frontier)};
  }
  void Close() {
    frontier = nullptr;
    store = nullptr;
  }
};

}  // namespace freshet

#endif  // FRESHET_TESTS_SERVER_FRONTIER_FRONTIER_FIXTURE_H_
