#include "core/base/plain_vector.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(PlainVector, HoldsWhatWasPushedHoweverLargeItGrows) {
  PlainVector<uint64_t> vector;
  EXPECT_TRUE(vector.empty());
  // Enough for both ways of growing: small blocks are copied, and large ones are remapped.
  constexpr uint64_t kMany = 3'000'000;
  for (uint64_t i = 0; i < kMany; ++i) vector.push_back(i * i);
  ASSERT_EQ(vector.size(), kMany);
  for (uint64_t i = 0; i < kMany; ++i) ASSERT_EQ(vector[i], i * i);
  EXPECT_EQ(vector.front(), 0u);
  EXPECT_EQ(vector.back(), (kMany - 1) * (kMany - 1));
}

TEST(PlainVector, PushesAValueOfItsOwn) {
  PlainVector<int> vector;
  vector.push_back(7);
  for (int i = 0; i < 100; ++i) vector.push_back(vector.front());
  EXPECT_EQ(std::count(vector.begin(), vector.end(), 7), 101);
}

TEST(PlainVector, PopsFromTheEnd) {
  PlainVector<int> vector;
  vector.push_back(1);
  vector.push_back(2);
  vector.pop_back();
  EXPECT_EQ(vector.size(), 1u);
  EXPECT_EQ(vector.back(), 1);
  vector.pop_back();
  EXPECT_TRUE(vector.empty());
}

TEST(PlainVector, KeepsItsElementsWhenItMoves) {
  PlainVector<int> from;
  from.push_back(5);
  PlainVector<int> to = std::move(from);
  ASSERT_EQ(to.size(), 1u);
  EXPECT_EQ(to[0], 5);
}

}  // namespace
}  // namespace freshet
