#include "core/index/times_table.h"

#include <map>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(TimesTable, AgreesWithAMap) {
  TimesTable table;
  std::map<PageId, Instant> expected;
  Random random(1);
  for (int i = 0; i < 100'000; ++i) {
    const PageId page(static_cast<uint32_t>(random.Below(5000)));
    if (random.Below(3) == 0) {
      table.Erase(page);
      expected.erase(page);
    } else {
      const Instant at = Instant::FromMicros(i);
      table.Set(page, {.eligible_from = at, .forced_at = Instant::Infinite()});
      expected[page] = at;
    }
    ASSERT_EQ(table.empty(), expected.empty());
    const PageId other(static_cast<uint32_t>(random.Below(5000)));
    const PageTimes* const times = table.Find(other);
    const auto it = expected.find(other);
    ASSERT_EQ(times != nullptr, it != expected.end());
    if (times != nullptr) {
      ASSERT_EQ(times->eligible_from, it->second);
    }
  }
  for (const auto& [page, at] : expected) table.Erase(page);
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.Find(PageId(1)), nullptr);
}

}  // namespace
}  // namespace freshet
