// Tests queues of waiting pages by comparison with lists.
#include "core/index/waiting_queues.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

// Queues and their expected content. Owner thread only.
class QueuesAndLists {
 public:
  using Member = std::pair<int64_t, uint32_t>;  // turn and page
  // Adds a page in the same way as the index. Returns true if a queue took it.
  bool Add(double bound, int64_t turn, uint32_t page) {
    const WaitingQueues::Fit fit = queues_.FitFor(bound, turn, PageId(page));
    uint32_t queue = fit.queue;
    const auto alone = alone_.find(fit.alone.value());
    // FitFor() can propose a new queue for this page and a page that was noted earlier. The noted
    // page might no longer wait, or might wait with another bound.
    if (fit.pair && alone != alone_.end() && alone->second.first == bound &&
        alone->second.second < Member(turn, page)) {
      queue = queues_.Make(bound, fit.alone);
      lists_[queue] = {bound, {alone->second.second}};
      queue_of_[fit.alone.value()] = queue;
      alone_.erase(alone);
    }
    if (queue == WaitingQueues::kNone) {
      queues_.Note(bound, turn, PageId(page));
      alone_[page] = {bound, {turn, page}};
      return false;
    }
    EXPECT_EQ(queues_.bound(queue), bound);
    EXPECT_LT(lists_.at(queue).second.back(), Member(turn, page)) << "out of turn";
    lists_.at(queue).second.emplace_back(turn, page);
    queue_of_[page] = queue;
    place_[page] = queues_.Append(queue, turn, PageId(page));
    return true;
  }
  [[nodiscard]] bool queued(uint32_t page) const { return queue_of_.contains(page); }
  [[nodiscard]] bool waits(uint32_t page) const { return queued(page) || alone_.contains(page); }
  void Remove(uint32_t page) {
    if (alone_.erase(page) > 0) return;
    const uint32_t queue = queue_of_.at(page);
    queue_of_.erase(page);
    auto& list = lists_.at(queue).second;
    const bool first = list.front().second == page;
    std::erase_if(list, [&](const Member& member) { return member.second == page; });
    if (first) {
      EXPECT_EQ(queues_.DropFirst(queue), !list.empty());
      if (list.empty()) lists_.erase(queue);
    } else {
      queues_.Drop(queue, place_.at(page),
                   [&](PageId moved, uint32_t place) { place_[moved.value()] = place; });
    }
  }
  void ExpectFirstsInTurn() const {
    for (const auto& [queue, list] : lists_) {
      ASSERT_EQ(queues_.First(queue), PageId(list.second.front().second));
    }
  }
  [[nodiscard]] size_t queues() const { return lists_.size(); }

 private:
  WaitingQueues queues_;
  std::map<uint32_t, std::pair<double, std::vector<Member>>> lists_;  // by queue
  std::map<uint32_t, uint32_t> queue_of_;                             // by page
  std::map<uint32_t, uint32_t> place_;
  std::map<uint32_t, std::pair<double, Member>> alone_;
};

TEST(WaitingQueues, KeepPagesInTurn) {
  Random random(7);
  QueuesAndLists both;
  constexpr uint32_t kPages = 300;
  int64_t turn = 0;
  size_t queued = 0;
  for (int step = 0; step < 60'000; ++step) {
    const auto page = static_cast<uint32_t>(random.Below(kPages));
    if (both.waits(page)) {
      both.Remove(page);
    } else {
      // One turn in ten is earlier than the latest turn.
      if (random.Below(3) == 0) ++turn;
      const int64_t its = random.Below(10) == 0 ? turn - 5 : turn;
      queued += both.Add(1 + static_cast<double>(random.Below(3)), its, page) ? 1 : 0;
    }
    ASSERT_NO_FATAL_FAILURE(both.ExpectFirstsInTurn()) << "step " << step;
    ASSERT_FALSE(testing::Test::HasFailure()) << "step " << step;
  }
  EXPECT_GT(queued, 1000u);
}

TEST(WaitingQueues, AreThinnedOutBehindTheirFirst) {
  QueuesAndLists both;
  constexpr uint32_t kPages = 10'000;
  for (uint32_t page = 0; page < kPages; ++page) both.Add(1, page, page);
  EXPECT_GT(both.queues(), 1u);
  EXPECT_LT(both.queues(), 10u);
  for (uint32_t page = 0; page < kPages; ++page) {
    if (page % 50 != 0) both.Remove(page);
    if (page % 500 != 0) continue;
    ASSERT_NO_FATAL_FAILURE(both.ExpectFirstsInTurn());
  }
  for (uint32_t page = 0; page < kPages; page += 50) {
    both.Remove(page);
    ASSERT_NO_FATAL_FAILURE(both.ExpectFirstsInTurn());
  }
  EXPECT_EQ(both.queues(), 0u);
}

TEST(WaitingQueues, LeaveOtherBoundsAndEarlierTurnsAlone) {
  QueuesAndLists both;
  EXPECT_FALSE(both.Add(1, 10, 1));
  EXPECT_FALSE(both.Add(2, 11, 2));
  EXPECT_FALSE(both.Add(1, 9, 3));
  EXPECT_TRUE(both.Add(1, 9, 4));
  EXPECT_FALSE(both.Add(1, 9, 0));
}

}  // namespace
}  // namespace freshet
