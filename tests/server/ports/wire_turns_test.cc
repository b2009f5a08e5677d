#include "server/ports/wire_turns.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/client_network.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

IpAddress NetworkNumber(int number) {
  return NetworkOfPeer("ipv4:192.0.2." + std::to_string(number) + ":1");
}

class WireTurnsTest : public testing::Test {
 protected:
  std::vector<int> TakeWoken() { return std::exchange(woken_, {}); }

  std::vector<int> woken_;
  WireTurns turns_{[this](int descriptor) { woken_.push_back(descriptor); }};
};

TEST_F(WireTurnsTest, NobodyWaitsWhileThereAreFew) {
  turns_.Count(NetworkNumber(1), WireTurns::kFew - 1, 0);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(1), 1), SIZE_MAX);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(2), 2), SIZE_MAX);
}

TEST_F(WireTurnsTest, WhoHasMostWaitsForThemToBeTakenUp) {
  turns_.Count(NetworkNumber(1), WireTurns::kFew, 0);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(1), 1), 0U);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(1), 2), 0U);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(2), 3), WireTurns::kPiece);
  EXPECT_THAT(TakeWoken(), IsEmpty());
  turns_.Heard(NetworkNumber(1));
  EXPECT_THAT(TakeWoken(), ElementsAre(1));
  // What is read of one may open no call, so that nothing would wake the next.
  EXPECT_EQ(turns_.MayRead(NetworkNumber(1), 1), SIZE_MAX);
  EXPECT_THAT(TakeWoken(), ElementsAre(2));
  turns_.Heard(NetworkNumber(1));
  EXPECT_THAT(TakeWoken(), IsEmpty()) << "each is woken once";
}

TEST_F(WireTurnsTest, NetworksHaveEqualParts) {
  for (int network = 1; network <= 4; ++network) {
    turns_.Count(NetworkNumber(network), network == 1 ? WireTurns::kFew : 10, 0);
  }
  // With a quarter each.
  EXPECT_EQ(turns_.MayRead(NetworkNumber(1), 1), 0U);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(2), 2), WireTurns::kPiece);
  turns_.Count(NetworkNumber(2), WireTurns::kFew / 4, 0);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(2), 2), 0U);
  // Once there are few, they are woken by turns.
  for (uint64_t i = 0; i < 2 * WireTurns::kFew; ++i) turns_.Heard(NetworkNumber(1));
  EXPECT_THAT(TakeWoken(), UnorderedElementsAre(1, 2));
  // However many networks there are, each may have a few.
  for (int network = 5; network < 255; ++network) turns_.Count(NetworkNumber(network), 2, 0);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(5), 5), WireTurns::kPiece);
}

// gRPC may drop a call, or end it by itself.
TEST_F(WireTurnsTest, CallsThatEndAreWaitedForNoLonger) {
  turns_.Count(NetworkNumber(1), WireTurns::kFew, 0);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(1), 1), 0U);
  turns_.Count(NetworkNumber(1), 0, WireTurns::kFew - 1);
  EXPECT_EQ(turns_.unheard(), 1U);
  EXPECT_THAT(TakeWoken(), ElementsAre(1));
  // Those that were heard of may stay open.
  turns_.Heard(NetworkNumber(1));
  EXPECT_EQ(turns_.unheard(), 0U);
  turns_.Count(NetworkNumber(1), 0, 1);
  turns_.Heard(NetworkNumber(1));
  EXPECT_EQ(turns_.unheard(), 0U);
}

TEST_F(WireTurnsTest, ClosedSocketsAreNotWoken) {
  turns_.Count(NetworkNumber(1), WireTurns::kFew, 0);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(1), 1), 0U);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(1), 2), 0U);
  turns_.Forget(NetworkNumber(1), 1);
  turns_.WakeAll();
  EXPECT_THAT(TakeWoken(), ElementsAre(2));
  turns_.WakeAll();
  EXPECT_THAT(TakeWoken(), IsEmpty());
}

}  // namespace
}  // namespace freshet
