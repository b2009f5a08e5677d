// Tests pools of waiting pages by comparison with a list.
#include "core/index/bound_pools.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

struct Waiting {
  uint32_t pool = 0;
  double bound = 0;
  uint32_t position = 0;  // as last reported by the pools
  bool waits = false;
};

// The pools, and the same pages in a plain list. Owner thread only.
class PoolsAndList {
 private:
  auto Turns() {
    return [this](PageId page, double) {
      ++asked_;
      return turns_[page.value()];
    };
  }
  auto Placed() {
    return [this](PageId page, uint32_t position) { list_[page.value()].position = position; };
  }

 public:
  explicit PoolsAndList(std::vector<int64_t> turns)
      : turns_(std::move(turns)), list_(turns_.size()), open_(1, true), group_of_(1, 0) {}

  uint32_t Make(uint32_t group = 0) {
    const uint32_t pool = pools_.Make(GroupId(group));
    open_.resize(std::max<size_t>(open_.size(), pool + 1));
    group_of_.resize(open_.size());
    open_[pool] = false;
    group_of_[pool] = group;
    return pool;
  }
  void Move(uint32_t pool, uint32_t group) {
    pools_.Move(pool, GroupId(group), Turns());
    group_of_[pool] = group;
  }
  void SetGroupOpen(uint32_t group, bool open) {
    pools_.SetGroupOpen(GroupId(group), open, Turns());
    open ? closed_groups_.erase(group) : closed_groups_.insert(group).second;
  }
  void Drop(uint32_t pool) {
    SetOpen(pool, false);
    pools_.Drop(pool);
  }
  void SetOpen(uint32_t pool, bool open) {
    pools_.SetOpen(pool, open, Turns());
    open_[pool] = open;
  }
  void Add(uint32_t page, uint32_t pool, double bound) {
    list_[page] = {pool, bound, 0, true};
    pools_.Add(pool, {bound, PageId(page)}, Turns(), Placed());
  }
  void Remove(uint32_t page) {
    list_[page].waits = false;
    pools_.Remove(list_[page].pool, list_[page].position, Turns(), Placed());
  }
  [[nodiscard]] bool waits(uint32_t page) const { return list_[page].waits; }
  [[nodiscard]] size_t turns_asked() const { return asked_; }

  // ListFirst() and PoolsFirst() return the first page of all open pools, according to the list and
  // according to the pools.
  [[nodiscard]] std::optional<uint32_t> ListFirst() const {
    std::optional<uint32_t> first;
    for (uint32_t page = 0; page < list_.size(); ++page) {
      if (!list_[page].waits || !open_[list_[page].pool]) continue;
      if (closed_groups_.contains(group_of_[list_[page].pool])) continue;
      if (!first || Before(page, *first)) first = page;
    }
    return first;
  }
  [[nodiscard]] std::optional<uint32_t> PoolsFirst() {
    const uint32_t top = pools_.Top(Turns());
    if (top == BoundPools::kNone) return std::nullopt;
    return pools_.First(top).page().value();
  }
  // Expects that every page is where the pools reported it, with its bound.
  void ExpectAllInPlace() const {
    for (uint32_t page = 0; page < list_.size(); ++page) {
      if (!list_[page].waits) continue;
      const WaitingPage& waiting = pools_.At(list_[page].pool, list_[page].position);
      EXPECT_EQ(waiting.page(), PageId(page));
      EXPECT_EQ(waiting.bound(), list_[page].bound);
    }
  }

 private:
  [[nodiscard]] bool Before(uint32_t a, uint32_t b) const {
    if (list_[a].bound != list_[b].bound) return list_[a].bound > list_[b].bound;
    return turns_[a] != turns_[b] ? turns_[a] < turns_[b] : a < b;
  }
  std::vector<int64_t> turns_;
  std::vector<Waiting> list_;
  std::vector<bool> open_;          // by pool
  std::vector<uint32_t> group_of_;  // by pool
  std::set<uint32_t> closed_groups_;
  BoundPools pools_;
  size_t asked_ = 0;
};

TEST(BoundPools, HandOutTheFirstOfAllOpenPools) {
  Random random(5);
  constexpr uint32_t kPages = 60;
  std::vector<int64_t> turns(kPages);
  for (int64_t& turn : turns) turn = static_cast<int64_t>(random.Below(8));
  PoolsAndList both(turns);
  std::vector<uint32_t> pools = {0};
  while (pools.size() < 5) pools.push_back(both.Make());
  // Only a few bounds, so that many are equal, and two that are equal in single precision.
  const std::vector<double> bounds = {
      0, 1e-300, 1.0 / 3, 1.0 / 3 + 1e-12, 2, 1e300, std::numeric_limits<double>::infinity()};
  for (int step = 0; step < 20'000; ++step) {
    const auto page = static_cast<uint32_t>(random.Below(kPages));
    if (random.Below(6) == 0) {
      const uint32_t pool = pools[1 + random.Below(pools.size() - 1)];
      both.SetOpen(pool, random.Below(2) == 0);
    } else if (both.waits(page)) {
      both.Remove(page);
    } else {
      both.Add(page, pools[random.Below(pools.size())], bounds[random.Below(bounds.size())]);
    }
    ASSERT_EQ(both.PoolsFirst(), both.ListFirst()) << "step " << step;
    if (step % 64 == 0) both.ExpectAllInPlace();
  }
}

TEST(BoundPools, HandOutTheFirstOfAllOpenGroups) {
  Random random(6);
  constexpr uint32_t kPages = 60;
  constexpr uint32_t kGroups = 4;  // including 0
  std::vector<int64_t> turns(kPages);
  for (int64_t& turn : turns) turn = static_cast<int64_t>(random.Below(8));
  PoolsAndList both(turns);
  std::vector<uint32_t> pools = {0};
  while (pools.size() < 12) pools.push_back(both.Make(random.Below(kGroups)));
  for (int step = 0; step < 20'000; ++step) {
    const auto page = static_cast<uint32_t>(random.Below(kPages));
    const uint32_t pool = pools[1 + random.Below(pools.size() - 1)];
    const uint64_t action = random.Below(12);
    if (action == 0) {
      both.SetOpen(pool, random.Below(4) != 0);
    } else if (action == 1) {
      both.Move(pool, random.Below(kGroups));
    } else if (action == 2) {
      both.SetGroupOpen(1 + random.Below(kGroups - 1), random.Below(2) == 0);
    } else if (both.waits(page)) {
      both.Remove(page);
    } else {
      both.Add(page, pools[random.Below(pools.size())], static_cast<double>(random.Below(9)));
    }
    ASSERT_EQ(both.PoolsFirst(), both.ListFirst()) << "step " << step;
    if (step % 64 == 0) both.ExpectAllInPlace();
  }
}

TEST(BoundPools, TakeDroppedPoolsAgainClosed) {
  PoolsAndList both({1, 2});
  const uint32_t pool = both.Make();
  both.SetOpen(pool, true);
  both.Add(0, pool, 1);
  EXPECT_EQ(both.PoolsFirst(), 0u);
  both.Remove(0);
  both.Drop(pool);
  EXPECT_EQ(both.Make(), pool);
  both.Add(1, pool, 1);
  EXPECT_EQ(both.PoolsFirst(), std::nullopt);
}

TEST(BoundPools, AskForTurnsWhereBoundsAreEqualOnly) {
  PoolsAndList both({3, 2, 1, 0});
  for (uint32_t page = 0; page < 3; ++page) both.Add(page, 0, 1 + 1e-15 * page);
  EXPECT_EQ(both.turns_asked(), 0u);
  EXPECT_EQ(both.PoolsFirst(), 2u);
  both.Add(3, 0, 1 + 1e-15 * 2);
  EXPECT_GT(both.turns_asked(), 0u);
  EXPECT_EQ(both.PoolsFirst(), 3u);
}

}  // namespace
}  // namespace freshet
