#include "server/base/client_turns.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using testing::ElementsAre;

std::vector<std::string> PopAll(ClientTurns<std::string>& turns) {
  std::vector<std::string> popped;
  while (!turns.empty()) popped.push_back(turns.Pop());
  return popped;
}

TEST(ClientTurns, GoRoundHoweverMuchOneBrings) {
  ClientTurns<std::string> turns;
  for (const char* work : {"a1", "a2", "a3"}) turns.Push("a", work);
  turns.Push("b", "b1");
  EXPECT_EQ(turns.size(), 4u);
  EXPECT_EQ(turns.SizeOf("a"), 3u);
  EXPECT_EQ(turns.SizeOf("c"), 0u);
  EXPECT_EQ(turns.Pop(), "a1");
  turns.Push("c", "c1");
  EXPECT_THAT(PopAll(turns), ElementsAre("b1", "a2", "c1", "a3"));
  EXPECT_EQ(turns.SizeOf("a"), 0u);
}

TEST(ClientTurns, FindWhatWaits) {
  ClientTurns<std::unique_ptr<int>> turns;
  turns.Push("a", std::make_unique<int>(1));
  turns.Push("b", std::make_unique<int>(2));
  const auto is_two = [](const std::unique_ptr<int>& work) { return *work == 2; };
  ASSERT_NE(turns.Find(is_two), nullptr);
  **turns.Find(is_two) = 3;
  EXPECT_EQ(turns.Find(is_two), nullptr);
  EXPECT_EQ(*turns.Pop(), 1);
  EXPECT_EQ(*turns.Pop(), 3);
}

}  // namespace
}  // namespace freshet
