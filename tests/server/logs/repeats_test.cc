#include "server/logs/repeats.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr Instant kStart = Instant::FromUnixSeconds(1'700'000'000);
using Texts = Repeats<std::string>;

TEST(Repeats, CountsWhatIsMoreThanAFewAMinute) {
  Texts repeats;
  uint64_t said = 0;
  for (int i = 0; i < 532; ++i) said += repeats.Admit("a", std::to_string(i), kStart) ? 1 : 0;
  EXPECT_EQ(said, Texts::kPerWindow);
  EXPECT_TRUE(repeats.Admit("b", "b", kStart));
  EXPECT_THAT(repeats.Take(kStart + Duration::Seconds(59), false), IsEmpty());
  EXPECT_THAT(repeats.Take(kStart + Duration::Seconds(60), false),
              ElementsAre(Pair("531", 532 - Texts::kPerWindow)));
  EXPECT_TRUE(repeats.empty());
  EXPECT_TRUE(repeats.Admit("a", "again", kStart + Duration::Seconds(61)));
}

TEST(Repeats, TakesAllWhenAsked) {
  Texts repeats;
  for (uint64_t i = 0; i <= Texts::kPerWindow; ++i) (void)repeats.Admit("a", "x", kStart);
  EXPECT_THAT(repeats.Take(kStart, true), ElementsAre(Pair("x", 1)));
}

TEST(Repeats, RemembersOnlySoManyKinds) {
  Texts repeats;
  for (size_t i = 0; i < Texts::kMaxKinds; ++i) {
    EXPECT_TRUE(repeats.Admit(std::to_string(i), "x", kStart));
  }
  uint64_t said = 0;
  for (int i = 0; i < 5000; ++i)
    said += repeats.Admit("new " + std::to_string(i), "x", kStart) ? 1 : 0;
  EXPECT_EQ(said, Texts::kPerWindow);
}

}  // namespace
}  // namespace freshet
