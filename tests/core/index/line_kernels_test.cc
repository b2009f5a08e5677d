// Tests vector kernels of every width by comparison with plain loops, at all lengths around that
// width.
#include "core/index/line_kernels.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

struct Sample {
  explicit Sample(size_t n, uint64_t seed) : base(n), slope(n) {
    Random random(seed);
    for (size_t i = 0; i < n; ++i) {
      // Only a few distinct numbers, so that some are equal.
      base[i] = static_cast<double>(random.Below(20)) - 10;
      // The value of a page that is surely stale can be anything.
      if (random.Below(50) == 0) base[i] = HUGE_VAL;
      slope[i] = static_cast<double>(random.Below(3));
    }
  }
  std::vector<double> base;
  std::vector<double> slope;
};

std::vector<NamedLineKernels> AllKernels() {
  NamedLineKernels list[3];
  const size_t n = ListLineKernels(list);
  return {list, list + n};
}

template <typename Check>
void ForEach(const Check& check) {
  for (const NamedLineKernels& named : AllKernels()) {
    for (size_t n = 0; n < 70; ++n) {
      SCOPED_TRACE(std::string(named.name) + " of " + std::to_string(n));
      check(*named.kernels, n, Sample(n, n + 1));
    }
  }
}

std::vector<double> Padded(std::vector<double> numbers, double padding) {
  numbers.resize(numbers.size() + kLinePadding, padding);
  return numbers;
}

void ExpectHighest(const HighestValue& found, std::vector<double> values) {
  ASSERT_LT(found.place, values.size());
  EXPECT_EQ(values[found.place], found.value);
  std::sort(values.rbegin(), values.rend());
  EXPECT_EQ(found.value, values[0]);
  EXPECT_EQ(found.next, values.size() > 1 ? values[1] : -HUGE_VAL);
}

TEST(LineKernels, AdvanceMovesEveryLineByItsSlope) {
  ForEach([](const LineKernels& kernels, size_t n, const Sample& sample) {
    std::vector<double> moved = sample.base;
    kernels.advance(moved.data(), sample.slope.data(), n, 0.3);
    for (size_t i = 0; i < n; ++i) EXPECT_EQ(moved[i], sample.base[i] + sample.slope[i] * 0.3);
  });
}

TEST(LineKernels, EvaluatesAndFindsTheHighest) {
  ForEach([](const LineKernels& kernels, size_t n, const Sample& sample) {
    if (n == 0) return;
    std::vector<double> expected(n);
    for (size_t i = 0; i < n; ++i) expected[i] = sample.base[i] + sample.slope[i] * 0.3;
    std::vector<double> base = Padded(sample.base, -HUGE_VAL);
    std::vector<double> slope = Padded(sample.slope, 1e300);
    std::vector<double> values(n + kLinePadding);
    ExpectHighest(kernels.evaluate(base.data(), slope.data(), n, 0.3, values.data()), expected);
    values.resize(n);
    EXPECT_EQ(values, expected);
  });
}

TEST(LineKernels, FindsTheHighestAndTheNext) {
  ForEach([](const LineKernels& kernels, size_t n, const Sample& sample) {
    if (n == 0) return;
    std::vector<double> values = Padded(sample.base, -HUGE_VAL);
    ExpectHighest(kernels.find_highest(values.data(), n), sample.base);
  });
}

TEST(LineKernels, SelectsByLevel) {
  ForEach([](const LineKernels& kernels, size_t n, const Sample& sample) {
    for (const double level : {-100.0, 0.0, 3.0, 100.0}) {
      std::vector<uint32_t> above(n + kLinePadding);
      std::vector<uint32_t> below(n + kLinePadding);
      above.resize(kernels.select_not_below(sample.base.data(), sample.slope.data(), n, 2, level,
                                            above.data()));
      below.resize(kernels.select_below(sample.base.data(), n, level, below.data()));
      std::vector<uint32_t> expected_above;
      std::vector<uint32_t> expected_below;
      for (uint32_t i = 0; i < n; ++i) {
        if (sample.base[i] + sample.slope[i] * 2 >= level) expected_above.push_back(i);
        if (sample.base[i] < level) expected_below.push_back(i);
      }
      EXPECT_EQ(above, expected_above);
      EXPECT_EQ(below, expected_below);
    }
  });
}

TEST(LineKernels, TheBestOfThisMachineIsTheWidest) {
  const std::vector<NamedLineKernels> all = AllKernels();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.back().kernels, &BestLineKernels());
}

}  // namespace
}  // namespace freshet
