// Tests alarms by comparison with a sorted list.
#include "core/index/alarm.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using Alarms = AlarmHeap<Instant, PageId>;

bool Always(const Alarms::Entry& /*alarm*/) { return true; }

TEST(AlarmHeap, RingsTheEarliestFirstInWhateverOrderTheyCome) {
  Random random(11);
  Alarms alarms;
  std::multiset<std::pair<int64_t, uint32_t>> list;
  int64_t now = 0;
  for (int step = 0; step < 100'000; ++step) {
    // Periods in which the number of alarms grows alternate with periods in which it shrinks. Most
    // alarms are set in the order of their times.
    if (random.Below(100) < (step / 5000 % 2 == 0 ? 60u : 40u)) {
      const int64_t wait = random.Below(8) == 0 ? static_cast<int64_t>(random.Below(500)) : 100;
      const auto page = static_cast<uint32_t>(random.Below(1000));
      now += static_cast<int64_t>(random.Below(2));
      alarms.Push({Instant::FromMicros(now + wait), PageId(page)}, Always);
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
  for (uint32_t i = 0; i < kAlarms; ++i) {
    alarms.Push({Instant::FromMicros(i / 2), PageId(i)}, Always);
  }
  for (uint32_t i = 0; i < kAlarms; ++i) ASSERT_EQ(alarms.Pop().id, PageId(i));
  EXPECT_TRUE(alarms.empty());
  EXPECT_FALSE(alarms.Rings(Instant::Infinite()));
}

// Replaced alarms must not accumulate, and no current alarm may be lost.
TEST(AlarmHeap, KeepsFewThatDoNotCount) {
  Random random(3);
  constexpr uint32_t kPages = 10'000;
  std::vector<Alarms::Entry> latest(kPages);
  Alarms alarms;
  for (uint32_t i = 1; i <= 1'000'000; ++i) {
    const auto page = static_cast<uint32_t>(random.Below(kPages));
    // Each alarm is earlier than the one before. The ring, which holds alarms in the order of their
    // times, cannot take it.
    latest[page] = {Instant::FromMicros(3'000'000 - i), PageId(page), i};
    alarms.Push(latest[page],
                [&](const auto& alarm) { return latest[alarm.id.value()].tag == alarm.tag; });
    ASSERT_LT(alarms.size(), 3 * kPages);
  }
  std::sort(latest.begin(), latest.end(), [](const auto& a, const auto& b) { return b < a; });
  auto next = latest.begin();
  Instant last;
  while (!alarms.empty()) {
    const Alarms::Entry first = alarms.Pop();
    ASSERT_LE(last, first.at);
    last = first.at;
    if (next != latest.end() && first.tag == next->tag) ++next;
  }
  EXPECT_EQ(next, latest.end());
}

}  // namespace
}  // namespace freshet
