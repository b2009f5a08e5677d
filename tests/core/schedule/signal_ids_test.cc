#include "core/schedule/signal_ids.h"

#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(SignalIds, RemembersTheLatestUpToItsBound) {
  SignalIds ids(100);
  for (uint64_t id = 1; id <= 1000; ++id) {
    EXPECT_FALSE(ids.Contains(id));
    ids.Add(id);
    EXPECT_TRUE(ids.Contains(id));
    EXPECT_LE(ids.size(), 100u);
  }
  for (uint64_t id = 1; id <= 1000; ++id) EXPECT_EQ(ids.Contains(id), id > 900) << id;
}

TEST(SignalIds, ADuplicateTakesNoPlaceAndKeepsItsAge) {
  SignalIds ids(3);
  for (const uint64_t id : {1, 2, 1, 1, 3}) ids.Add(id);
  EXPECT_EQ(ids.size(), 3u);
  for (const uint64_t id : {1, 2, 3}) EXPECT_TRUE(ids.Contains(id)) << id;
  ids.Add(1);
  ids.Add(4);
  EXPECT_FALSE(ids.Contains(1)) << "the first of the four, though it came again";
  for (const uint64_t id : {2, 3, 4}) EXPECT_TRUE(ids.Contains(id)) << id;
  ids.Add(1);
  EXPECT_TRUE(ids.Contains(1)) << "what was forgotten is taken again";
  EXPECT_FALSE(ids.Contains(2));
}

TEST(SignalIds, OfWhichOnlyTheLastIsRemembered) {
  SignalIds ids(1);
  ids.Add(1);
  ids.Add(2);
  EXPECT_FALSE(ids.Contains(1));
  EXPECT_TRUE(ids.Contains(2));
}

}  // namespace
}  // namespace freshet
