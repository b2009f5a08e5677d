#include "server/base/mailbox.h"

#include <memory>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr MailboxLimits kLimits{.weight = 10, .hard_weight = 20, .patience = Duration::Millis(5)};

Instant At(int64_t ms) { return Instant() + Duration::Millis(ms); }

std::vector<int> Drained(Mailbox<int>& box, size_t weight, Instant now,
                         std::vector<int>* expired = nullptr) {
  std::vector<int> items;
  std::vector<int> late;
  box.Drain(weight, now, &items, &late);
  if (expired != nullptr) *expired = late;
  return items;
}

TEST(Mailbox, KeepsTheOrderAndTheCap) {
  Mailbox<int> box(kLimits);
  for (const int i : {1, 2, 3}) {
    int item = i;
    EXPECT_EQ(box.Push(std::move(item), 3, At(0)), PushOutcome::kTaken);
  }
  EXPECT_EQ(box.weight(), 9u);
  EXPECT_THAT(Drained(box, 6, At(0)), ElementsAre(1, 2));
  EXPECT_THAT(Drained(box, 6, At(0)), ElementsAre(3));
  EXPECT_TRUE(box.empty());
}

TEST(Mailbox, TakesOneItemWhateverItWeighs) {
  Mailbox<int> box(kLimits);
  EXPECT_EQ(box.Push(1, 1000, At(0)), PushOutcome::kTaken);
  EXPECT_EQ(box.Push(2, 1, At(0)), PushOutcome::kFull);
  EXPECT_THAT(Drained(box, 6, At(0)), ElementsAre(1));
}

TEST(Mailbox, TakesAllPartsOrNone) {
  Mailbox<int> box({.weight = 100, .hard_weight = 100, .patience = Duration::Millis(5)});
  using Part = Mailbox<int>::Part;
  std::vector<Part> first = {{1, 30}, {2, 30}};
  EXPECT_EQ(box.PushAll(first, At(0), 7), PushOutcome::kTaken);
  std::vector<Part> second = {{3, 30}, {4, 30}};
  EXPECT_EQ(box.PushAll(second, At(0), 7), PushOutcome::kFull);
  EXPECT_EQ(box.weight(), 60U);
  EXPECT_EQ(box.Push(5, 1, At(0), 8), PushOutcome::kTaken);
  EXPECT_THAT(Drained(box, 31, At(0)), ElementsAre(1, 5)) << "others come between the parts";
  EXPECT_THAT(Drained(box, 31, At(0)), ElementsAre(2));
}

TEST(Mailbox, WhatIsPutBackComesFirstOfItsClient) {
  Mailbox<int> box(kLimits);
  EXPECT_EQ(box.Push(1, 2, At(0), 7), PushOutcome::kTaken);
  EXPECT_EQ(box.Push(2, 2, At(0), 7), PushOutcome::kTaken);
  EXPECT_EQ(box.Push(3, 2, At(0), 7), PushOutcome::kTaken);
  EXPECT_THAT(Drained(box, 4, At(0)), ElementsAre(1, 2));
  EXPECT_EQ(box.Push(4, 2, At(0), 8), PushOutcome::kTaken);
  box.PutBack({2, 2, 2}, 7);
  box.PutBack({1, 2, 2}, 7);
  EXPECT_EQ(box.weight(), 8U);
  std::vector<int> order = Drained(box, 100, At(0));
  EXPECT_EQ(std::erase(order, 4), 1U);
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
  EXPECT_EQ(box.weight(), 0U);
  box.PutBack({5, 1, 1}, 9);
  EXPECT_THAT(Drained(box, 100, At(0)), ElementsAre(5));
}

TEST(Mailbox, AsksToStopThenRefuses) {
  Mailbox<int> box(kLimits);
  EXPECT_EQ(box.Push(1, 8, At(0)), PushOutcome::kTaken);
  EXPECT_EQ(box.Push(2, 8, At(0)), PushOutcome::kTakenOver);
  EXPECT_EQ(box.Push(3, 8, At(0)), PushOutcome::kFull);
  EXPECT_EQ(box.PushAlways(4), PushOutcome::kTaken);
  EXPECT_THAT(Drained(box, 100, At(1)), ElementsAre(1, 2, 4));
  EXPECT_EQ(box.Push(3, 8, At(1)), PushOutcome::kTaken);
}

// Items that were taken ahead keep their weight until they are released, so senders still wait.
TEST(Mailbox, WhatIsTakenAheadWeighsOn) {
  Mailbox<int> box(kLimits);
  EXPECT_EQ(box.Push(1, 4, At(0)), PushOutcome::kTaken);
  EXPECT_EQ(box.PushAlways(2), PushOutcome::kTaken);
  EXPECT_EQ(box.Push(3, 4, At(0)), PushOutcome::kTaken);
  EXPECT_EQ(box.Push(4, 8, At(0)), PushOutcome::kTakenOver);
  EXPECT_EQ(box.PushAlways(5), PushOutcome::kTaken);
  std::vector<int> items;
  EXPECT_EQ(box.DrainAhead(7, &items), 4u);
  EXPECT_THAT(items, ElementsAre(1, 2));
  EXPECT_EQ(box.DrainAhead(100, &items), 4u);
  EXPECT_THAT(items, ElementsAre(1, 2, 3)) << "what is over the limit may yet wait in vain";
  EXPECT_EQ(box.weight(), 16u);
  EXPECT_EQ(box.Push(6, 8, At(0)), PushOutcome::kFull);
  box.Release(8);
  EXPECT_EQ(box.weight(), 8u);
  EXPECT_THAT(Drained(box, 100, At(1)), ElementsAre(4, 5));
  EXPECT_EQ(box.weight(), 0u);
}

TEST(Mailbox, WaitsForMoreThanWasThere) {
  Mailbox<int> box(kLimits);
  EXPECT_EQ(box.Push(1, 8, At(0)), PushOutcome::kTaken);
  EXPECT_EQ(box.Push(2, 8, At(0)), PushOutcome::kTakenOver);
  std::vector<int> items;
  (void)box.DrainAhead(100, &items);
  // The item arrives before the wait begins, and must not be missed.
  EXPECT_EQ(box.PushAlways(3), PushOutcome::kTaken);
  box.WaitForMore(Duration::Infinite());
  box.Wake();
  box.WaitForWake(Duration::Infinite());
  std::thread later([&box] { box.Wake(); });
  box.WaitForWake(Duration::Infinite());
  later.join();
  EXPECT_THAT(Drained(box, 100, At(0)), ElementsAre(2, 3));
}

TEST(Mailbox, HasAPlaceForAClientHoweverMuchAnotherBrings) {
  Mailbox<int> box(kLimits);
  EXPECT_EQ(box.Push(1, 8, At(0), 7), PushOutcome::kTaken);
  EXPECT_EQ(box.Push(2, 7, At(0), 7), PushOutcome::kTakenOver);
  EXPECT_EQ(box.Push(3, 1, At(0), 7), PushOutcome::kFull) << "the last quarter is for others";
  EXPECT_EQ(box.Push(4, 2, At(0), 8), PushOutcome::kTakenOver);
  EXPECT_EQ(box.Push(5, 1, At(0), 8), PushOutcome::kFull) << "one item of each of them";
  EXPECT_EQ(box.PushAlways(6), PushOutcome::kTaken);
  EXPECT_THAT(Drained(box, 100, At(1)), ElementsAre(1, 4, 6, 2)) << "each has its turn";
}

TEST(Mailbox, AsksNobodyToStopOfWhomLittleWaits) {
  Mailbox<int> box({.weight = 160, .hard_weight = 320, .patience = Duration::Millis(5)});
  EXPECT_EQ(box.Push(1, 235, At(0), 7), PushOutcome::kTaken) << "the first one, whatever it weighs";
  EXPECT_EQ(box.Push(2, 5, At(0), 7), PushOutcome::kTakenOver);
  for (int i = 0; i < 10; ++i) {
    int item = i;
    EXPECT_EQ(box.Push(std::move(item), 1, At(0), 8), PushOutcome::kTaken);
  }
  EXPECT_EQ(box.Push(3, 1, At(0), 8), PushOutcome::kFull) << "no more than a sixteenth";
  std::vector<int> expired;
  EXPECT_THAT(Drained(box, 1000, At(5), &expired), testing::SizeIs(11));
  EXPECT_THAT(expired, ElementsAre(2));
  EXPECT_EQ(box.Push(3, 1, At(6), 8), PushOutcome::kTaken);
}

TEST(Mailbox, WhatCostsMoreThanItWeighsFillsATurn) {
  Mailbox<int> box(kLimits);
  for (const int i : {1, 2, 3}) {
    int item = i;
    EXPECT_EQ(box.PushAlways(std::move(item), 7, 6), PushOutcome::kTaken);
  }
  EXPECT_EQ(box.weight(), 0u);
  EXPECT_EQ(box.Push(4, 2, At(0), 8), PushOutcome::kTaken);
  EXPECT_THAT(Drained(box, 10, At(0)), ElementsAre(1, 4)) << "each client has its turn";
  EXPECT_THAT(Drained(box, 10, At(0)), ElementsAre(2));
}

TEST(Mailbox, WhatCostsMoreThanATurnIsTakenAlone) {
  Mailbox<int> box(kLimits);
  EXPECT_EQ(box.Push(1, 1, At(0), 7, 30), PushOutcome::kTaken);
  EXPECT_EQ(box.Push(2, 1, At(0), 7, 30), PushOutcome::kTaken);
  EXPECT_EQ(box.PushAlways(3), PushOutcome::kTaken);
  EXPECT_EQ(box.Push(4, 1, At(0), 8), PushOutcome::kTaken);
  EXPECT_EQ(box.weight(), 3u) << "the bound counts events";
  std::vector<int> items;
  EXPECT_EQ(box.DrainAhead(10, &items), 0u);
  EXPECT_THAT(items, IsEmpty());
  EXPECT_THAT(Drained(box, 10, At(0)), ElementsAre(1, 3)) << "but for what costs nothing";
  EXPECT_THAT(Drained(box, 10, At(0)), ElementsAre(4));
  std::vector<int> expired;
  box.Drain(10, At(0), &items, &expired, 1);
  EXPECT_THAT(items, IsEmpty()) << "not beside what was taken before";
  EXPECT_THAT(Drained(box, 10, At(0)), ElementsAre(2));
  EXPECT_EQ(box.weight(), 0u);
}

TEST(Mailbox, GivesBackWhatWaitedTooLongOverTheBound) {
  Mailbox<int> box(kLimits);
  EXPECT_EQ(box.Push(1, 8, At(0)), PushOutcome::kTaken);
  EXPECT_EQ(box.Push(2, 8, At(0)), PushOutcome::kTakenOver);
  std::vector<int> expired;
  // Items within the bound are served, however late.
  EXPECT_THAT(Drained(box, 100, At(5), &expired), ElementsAre(1));
  EXPECT_THAT(expired, ElementsAre(2));
  EXPECT_EQ(box.weight(), 0u);
}

TEST(Mailbox, LeavesWhatItDoesNotTakeToTheCaller) {
  Mailbox<std::unique_ptr<int>> box(kLimits);
  box.Close();
  auto item = std::make_unique<int>(7);
  // NOLINTBEGIN(bugprone-use-after-move): what is not taken stays where it was.
  EXPECT_EQ(box.Push(std::move(item), 1, At(0)), PushOutcome::kClosed);
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(box.PushAlways(std::move(item)), PushOutcome::kClosed);
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(*item, 7);
  // NOLINTEND(bugprone-use-after-move)
}

TEST(Mailbox, DrainsWhatWasThereWhenItClosed) {
  Mailbox<int> box(kLimits);
  EXPECT_EQ(box.Push(1, 1, At(0)), PushOutcome::kTaken);
  box.Close();
  EXPECT_TRUE(box.closed());
  EXPECT_THAT(Drained(box, 10, At(0)), ElementsAre(1));
  EXPECT_THAT(Drained(box, 10, At(0)), IsEmpty());
}

TEST(Mailbox, WaitEndsForItemsWakesAndTheEnd) {
  Mailbox<int> box(kLimits);
  const auto wait_while = [&](auto action) {
    std::thread other(action);
    box.Wait(Duration::Infinite());
    other.join();
  };
  wait_while([&] { EXPECT_EQ(box.Push(1, 1, At(0)), PushOutcome::kTaken); });
  EXPECT_THAT(Drained(box, 10, At(0)), ElementsAre(1));
  wait_while([&] { box.Wake(); });
  wait_while([&] { box.Close(); });
  box.Wait(Duration());
}

TEST(Mailbox, LosesNothingAmongManyProducers) {
  constexpr int kProducers = 4;
  constexpr int kItems = 5000;
  Mailbox<int> box({.weight = 100, .hard_weight = 1'000'000, .patience = Duration::Infinite()});
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&box, p] {
      for (int i = 0; i < kItems; ++i) {
        const PushOutcome outcome = box.Push(p * kItems + i, 1, At(0));
        EXPECT_TRUE(outcome == PushOutcome::kTaken || outcome == PushOutcome::kTakenOver);
      }
    });
  }
  std::vector<int> last(kProducers, -1);
  size_t count = 0;
  while (count < size_t{kProducers} * kItems) {
    box.Wait(Duration::Seconds(1));
    for (const int item : Drained(box, 64, At(0))) {
      const auto producer = static_cast<size_t>(item / kItems);
      EXPECT_GT(item, last[producer]);
      last[producer] = item;
      ++count;
    }
  }
  for (std::thread& producer : producers) producer.join();
  EXPECT_EQ(box.weight(), 0u);
}

}  // namespace
}  // namespace freshet
