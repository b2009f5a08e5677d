// Alarms against a sorted list.
#include "core/index/alarm.h"

#include <cstdint>
#include <set>
#include <utility>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using Alarms = AlarmHeap<Instant, PageId>;

TEST(AlarmHeap, RingsTheEarliestFirstInWhateverOrderTheyCome) {
  Random random(11);
  Alarms alarms;
  std::multiset<std::pair<int64_t, uint32_t>> list;
  int64_t now = 0;
  for (int step = 0; step < 100'000; ++step) {
    // Times of fullness and of emptiness; most alarms come in order.
    if (random.Below(100) < (step / 5000 % 2 == 0 ? 60u : 40u)) {
      const int64_t wait = random.Below(8) == 0 ? static_cast<int64_t>(random.Below(500)) : 100;
      const auto page = static_cast<uint32_t>(random.Below(1000));
      now += static_cast<int64_t>(random.Below(2));
      alarms.Push({Instant::FromMicros(now + wait), PageId(page)});
      list.emplace(now + wait, page);
    } else if (!list.empty()) {
      ASSERT_FALSE(alarms.Rings(Instant::FromMicros(list.begin()->first - 1)));
      ASSERT_TRUE(alarms.Rings(Instant::FromMicros(list.begin()->first)));
      const Alarms::Entry first = alarms.First();
      ASSERT_EQ(std::pair(first.at.micros(), first.id.value()), *list.begin()) << "step " << step;
      ASSERT_EQ(alarms.Pop().id, first.id);
      list.erase(list.begin());
    }
    ASSERT_EQ(alarms.empty(), list.empty());
  }
}

TEST(AlarmHeap, TakesMoreThanItsRingHolds) {
  Alarms alarms;
  constexpr uint32_t kAlarms = 300'000;
  for (uint32_t i = 0; i < kAlarms; ++i) alarms.Push({Instant::FromMicros(i / 2), PageId(i)});
  for (uint32_t i = 0; i < kAlarms; ++i) ASSERT_EQ(alarms.Pop().id, PageId(i));
  EXPECT_TRUE(alarms.empty());
  EXPECT_FALSE(alarms.Rings(Instant::Infinite()));
}

}  // namespace
}  // namespace freshet
