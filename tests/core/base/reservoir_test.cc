#include "core/base/reservoir.h"

#include <array>
#include <numeric>

#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(Reservoir, HasAllWhileThereIsRoom) {
  Reservoir<int> sample(3, 1);
  for (int i = 0; i < 3; ++i) sample.Add(i);
  EXPECT_EQ(sample.items(), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(sample.seen(), 3U);
}

TEST(Reservoir, TakesEachItemAlikeOften) {
  std::array<int, 20> taken{};
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    Reservoir<size_t> sample(5, seed);
    for (size_t i = 0; i < taken.size(); ++i) sample.Add(i);
    ASSERT_EQ(sample.items().size(), 5U);
    for (const size_t i : sample.items()) ++taken[i];
  }
  // The expected count of each item is 1,000, with a standard deviation of 27. The test allows five
  // standard deviations.
  for (const int times : taken) EXPECT_NEAR(times, 1000, 137);
}

}  // namespace
}  // namespace freshet
