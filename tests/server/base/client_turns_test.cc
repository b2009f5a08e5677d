#include "server/base/client_turns.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using testing::ElementsAre;

template <typename Client>
std::vector<std::string> PopAll(ClientTurns<std::string, Client>& turns) {
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
  EXPECT_THAT(PopAll(turns), ElementsAre("b1", "c1", "a2", "a3"));
  EXPECT_EQ(turns.SizeOf("a"), 0u);
}

TEST(ClientTurns, WhatIsReplacedGoesWithoutATurn) {
  ClientTurns<std::string> turns;
  for (const char* work : {"a1", "a2"}) turns.Push("a", work);
  turns.Push("b", "b1");
  EXPECT_EQ(turns.Replace("a", "a3"), "a1");
  EXPECT_EQ(turns.Replace("b", "b2"), "b1");
  EXPECT_EQ(turns.size(), 3u);
  EXPECT_EQ(turns.front_client(), "a");
  EXPECT_THAT(PopAll(turns), ElementsAre("a2", "b2", "a3"));
}

TEST(ClientTurns, GoByWeight) {
  ClientTurns<std::string, int> turns;
  for (const char* work : {"large1", "large2", "large3"}) turns.Push(1, work, 10);
  for (const char* work : {"s1", "s2", "s3"}) turns.Push(2, work, 4);
  EXPECT_EQ(turns.front(), "large1");
  EXPECT_THAT(PopAll(turns), ElementsAre("large1", "s1", "s2", "s3", "large2", "large3"));
  // A client that pushes again after each turn does not delay the turns of others.
  turns.Push(1, "a1");
  turns.Push(1, "a2");
  turns.Push(2, "b1");
  EXPECT_EQ(turns.Pop(), "a1");
  EXPECT_EQ(turns.Pop(), "b1");
  turns.Push(2, "b2");
  EXPECT_EQ(turns.Pop(), "a2");
  EXPECT_EQ(turns.Pop(), "b2");
  // A new client starts with neither debt nor credit.
  for (const char* work : {"large4", "large5"}) turns.Push(1, work, 10);
  EXPECT_EQ(turns.Pop(), "large4");
  for (const char* work : {"t1", "t2", "t3", "t4"}) turns.Push(3, work, 4);
  EXPECT_THAT(PopAll(turns), ElementsAre("t1", "t2", "t3", "large5", "t4"));
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
