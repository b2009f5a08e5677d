#include "server/ports/wire_turns.h"

#include <deque>
#include <map>
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
  // Opens `calls` calls from the network. gRPC creates only `made` of them.
  void Open(int network, uint64_t calls, uint64_t made) {
    turns_.Count(NetworkNumber(network), {}, {.opened = calls, .open = calls});
    for (uint64_t i = 0; i < made; ++i) made_[network].push_back(turns_.Made());
  }
  void Open(int network, uint64_t calls) { Open(network, calls, calls); }
  void Cancel(int network, uint64_t calls) {
    turns_.Count(NetworkNumber(network), {.open = calls}, {});
  }
  void Hear(int network, uint64_t calls) {
    for (uint64_t i = 0; i < calls; ++i) {
      turns_.Heard(NetworkNumber(network), made_[network].front());
      made_[network].pop_front();
    }
  }
  void End(int network, uint64_t calls) {
    for (uint64_t i = 0; i < calls; ++i) turns_.Ended(NetworkNumber(network));
  }
  void LookForAnAge() {
    for (int i = 0; i < WireTurns::kLooksPerAge; ++i) turns_.Look();
  }

  std::vector<int> woken_;
  std::map<int, std::deque<uint64_t>> made_;  // results of Made(), by network
  WireTurns turns_{[this](int descriptor) { woken_.push_back(descriptor); }, /*runs=*/2};
};

TEST_F(WireTurnsTest, NobodyWaitsWhileThereAreFew) {
  Open(1, WireTurns::kFew - 1);
  EXPECT_GE(turns_.MayRead(NetworkNumber(1), 1), WireTurns::kPiece);
  EXPECT_GE(turns_.MayRead(NetworkNumber(2), 2), WireTurns::kPiece);
}

// A call counts only after its bytes have been read. So a single read is limited to the bytes of
// the calls for which there is room.
TEST_F(WireTurnsTest, NoMoreIsReadAtOnceThanThereIsRoomFor) {
  const auto calls_read = [&] {
    return turns_.MayRead(NetworkNumber(2), 2) / WireTurns::kLeastBytesPerCall;
  };
  EXPECT_EQ(calls_read(), WireTurns::kFew);
  Open(1, WireTurns::kFew / 2);
  EXPECT_EQ(calls_read(), WireTurns::kFew / 2);
}

TEST_F(WireTurnsTest, WhoHasMostWaitsForThemToBeTakenUp) {
  Open(1, WireTurns::kFew);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(1), 1), 0U);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(1), 2), 0U);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(2), 3), WireTurns::kPiece);
  EXPECT_THAT(TakeWoken(), IsEmpty());
  Hear(1, 1);
  EXPECT_THAT(TakeWoken(), ElementsAre(1));
  // The bytes of the connection that was woken might open no call. Then no call would wake the next
  // connection, so the read itself wakes it.
  EXPECT_GE(turns_.MayRead(NetworkNumber(1), 1), WireTurns::kPiece);
  EXPECT_THAT(TakeWoken(), ElementsAre(2));
  Hear(1, 1);
  EXPECT_THAT(TakeWoken(), IsEmpty()) << "each is woken once";
}

TEST_F(WireTurnsTest, NetworksHaveEqualParts) {
  for (int network = 1; network <= 4; ++network) Open(network, network == 1 ? WireTurns::kFew : 10);
  // Four networks have calls, so each network's part is a quarter.
  EXPECT_EQ(turns_.MayRead(NetworkNumber(1), 1), 0U);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(2), 2), WireTurns::kPiece);
  Open(2, WireTurns::kFew / 4);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(2), 2), 0U);
  // Once there are few calls, the networks are woken in turn.
  Hear(1, WireTurns::kFew);
  EXPECT_THAT(TakeWoken(), UnorderedElementsAre(1, 2));
  // Each network may have a few calls, however many networks there are.
  for (int network = 5; network < 255; ++network) Open(network, 2);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(5), 5), WireTurns::kPiece);
}

// gRPC also creates calls that their clients have cancelled, and each of them counts until the
// server has heard it.
TEST_F(WireTurnsTest, CancelledCallsAreWaitedFor) {
  Open(1, WireTurns::kFew);
  Cancel(1, WireTurns::kFew);
  EXPECT_EQ(turns_.unheard(), WireTurns::kFew);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(1), 1), 0U);
  Hear(1, WireTurns::kFew);
  EXPECT_EQ(turns_.unheard(), 0U);
  EXPECT_THAT(TakeWoken(), ElementsAre(1));
}

// Clients cancel calls or close connections faster than the server ends the calls.
TEST_F(WireTurnsTest, CallsThatAreLeftBehindCountUntilTheServerEndsThem) {
  constexpr uint64_t kMost = 48;
  constexpr uint64_t kShare = kMost * 3 / 8;
  turns_.SetMost(kMost);
  Open(1, kShare);
  Hear(1, kShare);
  EXPECT_EQ(turns_.left_behind(), 0U);
  EXPECT_GE(turns_.MayRead(NetworkNumber(1), 1), WireTurns::kPiece) << "an open call may need more";
  Cancel(1, kShare);
  EXPECT_EQ(turns_.left_behind(), kShare);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(1), 1), 0U);
  EXPECT_GE(turns_.MayRead(NetworkNumber(2), 2), WireTurns::kPiece);
  // Calls that the server does not know of yet count, too.
  Open(3, kMost);
  EXPECT_GE(turns_.MayRead(NetworkNumber(3), 3), WireTurns::kPiece);
  Cancel(3, kMost);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(3), 3), 0U);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(2), 2), 0U) << "of all networks there are most";
  Hear(3, kMost);
  EXPECT_EQ(turns_.left_behind(), kMost + kShare);
  EXPECT_THAT(TakeWoken(), IsEmpty());
  End(3, kMost);
  End(1, kShare);
  EXPECT_EQ(turns_.left_behind(), 0U);
  EXPECT_THAT(TakeWoken(), UnorderedElementsAre(1, 2, 3));
}

// gRPC can refuse a call itself, or its client can cancel it at once.
TEST_F(WireTurnsTest, CallsThatGrpcNeverMakesAreForgotten) {
  Open(1, 2 * WireTurns::kFew, 1);
  EXPECT_GE(turns_.MayRead(NetworkNumber(1), 1), WireTurns::kPiece) << "gRPC has few";
  LookForAnAge();
  // The calls of network 2 are opened in a later age (WireTurns::Look). gRPC has created only one
  // call of network 1, and the server has not heard it yet. Until the server hears this call, no
  // call of its age is forgotten.
  Open(2, WireTurns::kFew);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(1), 1), 0U);
  for (int i = 0; i < 10; ++i) LookForAnAge();
  EXPECT_EQ(turns_.unheard(), 3 * WireTurns::kFew);
  Hear(1, 1);
  LookForAnAge();
  EXPECT_EQ(turns_.unheard(), WireTurns::kFew);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(1), 1), WireTurns::kPiece);
  Hear(2, WireTurns::kFew);
  LookForAnAge();
  EXPECT_EQ(turns_.unheard(), 0U);
}

// Refused calls of a network do not add up, even while the network has or opens other calls.
TEST_F(WireTurnsTest, ForgottenCallsDoNotAddUp) {
  Open(1, 1000);
  Hear(1, 1000);
  for (int i = 0; i < 10; ++i) {
    Open(1, 100, 50);
    Cancel(1, 50);
    Hear(1, 50);
    End(1, 50);
    LookForAnAge();
    EXPECT_LE(turns_.unheard(), 100U);
  }
}

// A thread of gRPC reads one connection until no more of it may be read. Meanwhile, other
// connections wait for the thread.
TEST_F(WireTurnsTest, ConnectionsOfANetworkHaveRunsByTurns) {
  const IpAddress busy = NetworkNumber(1);
  for (int descriptor = 1; descriptor <= 4; ++descriptor) {
    EXPECT_GE(turns_.MayRead(busy, descriptor), WireTurns::kPiece) << "nobody waits";
  }
  for (int descriptor = 1; descriptor <= 4; ++descriptor) {
    EXPECT_EQ(turns_.MayRead(busy, descriptor, /*ran=*/true), 0U);
  }
  EXPECT_THAT(TakeWoken(), ElementsAre(1, 2)) << "so many have a run at a time";
  EXPECT_EQ(turns_.MayRead(busy, 5), 0U) << "others of the network wait";
  EXPECT_GE(turns_.MayRead(NetworkNumber(2), 6), WireTurns::kPiece);
  EXPECT_GE(turns_.MayRead(busy, 1), WireTurns::kPiece);
  EXPECT_THAT(TakeWoken(), IsEmpty());
  EXPECT_EQ(turns_.MayRead(busy, 1, /*ran=*/true), 0U);
  EXPECT_THAT(TakeWoken(), ElementsAre(3)) << "the next in turn";
  turns_.Drained(busy, 2);
  EXPECT_THAT(TakeWoken(), ElementsAre(4));
  turns_.Forget(busy, 3);
  EXPECT_THAT(TakeWoken(), ElementsAre(5));
  turns_.Drained(busy, 5);
  EXPECT_THAT(TakeWoken(), ElementsAre(1));
  turns_.Drained(busy, 1);
  turns_.Drained(busy, 4);
  EXPECT_GE(turns_.MayRead(busy, 2), WireTurns::kPiece) << "nobody waits any more";
}

// gRPC might never read the connections that were woken. Then Look() wakes the next ones.
TEST_F(WireTurnsTest, LookingWakesTheNextConnections) {
  for (int descriptor = 1; descriptor <= 4; ++descriptor) {
    EXPECT_EQ(turns_.MayRead(NetworkNumber(1), descriptor, /*ran=*/true), 0U);
  }
  EXPECT_THAT(TakeWoken(), ElementsAre(1, 2));
  turns_.Look();
  EXPECT_THAT(TakeWoken(), ElementsAre(3, 4));
}

// Previously, a network with 64 silent calls was not read for up to half a second.
TEST_F(WireTurnsTest, SilentCallsAreHeardAtOnce) {
  const IpAddress network = NetworkNumber(1);
  WireCalls before;
  const auto count = [&](uint64_t opened, uint64_t over) {
    WireCalls now = before;
    now.opened += opened;
    now.silent_opened += opened;
    now.silent_over += over;
    now.open += opened - over;
    turns_.Count(network, before, now);
    before = now;
  };
  const auto silent = [&] {
    int calls = 0;
    while (turns_.TakeSilent(network)) ++calls;
    return calls;
  };
  count(2, 0);
  EXPECT_EQ(silent(), 2);
  EXPECT_FALSE(turns_.TakeSilent(NetworkNumber(2)));
  count(0, 1);
  EXPECT_EQ(silent(), 0);
  // A read that opens calls and ends others changes their number little.
  count(5, 1);
  EXPECT_EQ(silent(), 5);
}

TEST_F(WireTurnsTest, ClosedSocketsAreNotWoken) {
  Open(1, WireTurns::kFew);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(1), 1), 0U);
  EXPECT_EQ(turns_.MayRead(NetworkNumber(1), 2), 0U);
  turns_.Forget(NetworkNumber(1), 1);
  turns_.Look();
  EXPECT_THAT(TakeWoken(), ElementsAre(2));
  turns_.Look();
  EXPECT_THAT(TakeWoken(), IsEmpty());
}

}  // namespace
}  // namespace freshet
