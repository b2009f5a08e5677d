// Tests several wheels together, at instants near the edges of their buckets.
#include "core/index/wake_wheels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(WakeWheelsTest, NothingIsLateOrLostAtTheEdgesOfBuckets) {
  Random random(11);
  WakeWheels wheels;
  wheels.Renew(100000);
  std::map<uint32_t, double> due;
  double now = 1e5;
  uint32_t next_page = 0;
  size_t idle = 0;
  for (int step = 0; step < 20000; ++step) {
    for (uint64_t left = random.Below(4); left > 0; --left) {
      const double slow = std::exp(3 * random.Uniform());
      const double at = now + 2 * slow * random.Uniform();
      if (wheels.File(PageId(next_page), 0, slow, slow, at, now) == Sleeping::kFiled) {
        due[next_page] = at;
      }
      ++next_page;
    }
    const double edge = random.Below(2) == 0 ? wheels.next_open() : wheels.next_due();
    if (std::isinf(edge)) continue;
    const uint64_t where = random.Below(3);
    const double towards = where == 0 ? 0 : std::numeric_limits<double>::infinity();
    now = std::max(now, where == 1 ? edge : std::nextafter(edge, towards));
    for (;;) {
      std::vector<WakeEntry> entries;
      const std::optional<OpenedBucket> opened = wheels.Open(now, &entries);
      if (!opened) break;
      for (const WakeEntry& entry : entries) {
        ASSERT_EQ(due.erase(entry.page.value()), 1U) << "page " << entry.page.value();
      }
    }
    // Counts the instants at which next_open() has passed, although Open() has no bucket to open.
    idle += now >= wheels.next_open() ? 1 : 0;
    ASSERT_EQ(wheels.entries(), due.size());
    for (const auto& [page, at] : due) ASSERT_GT(at, now) << "page " << page << " is late";
  }
  EXPECT_GT(idle, 0U) << "no wheel asked in vain";
}

TEST(WakeWheelsTest, TellHowFarTheThresholdMayFallBeforeSomethingWakes) {
  Random random(12);
  for (int round = 0; round < 200; ++round) {
    WakeWheels wheels;
    wheels.Renew(1000);
    const double now = 1e5;
    EXPECT_EQ(wheels.FallToNext(now), std::numeric_limits<double>::infinity());
    uint64_t filed = 0;
    for (uint32_t page = 0; page < 5; ++page) {
      const double slow = std::exp(3 * random.Uniform());
      const double at = now + 2 * slow * random.Uniform();
      filed += wheels.File(PageId(page), 0, slow, slow, at, now) == Sleeping::kFiled ? 1 : 0;
    }
    if (filed == 0) continue;
    const double fall = wheels.FallToNext(now);
    ASSERT_TRUE(fall >= 0 && fall < 2.1) << fall;
    wheels.MoveThreshold(-fall * (1 - 1e-6), now);
    EXPECT_GE(wheels.next_due(), now - 1e-9);
    wheels.MoveThreshold(-fall * 2e-6 - 1e-9, now);
    EXPECT_LE(wheels.next_due(), now);
  }
}

}  // namespace
}  // namespace freshet
