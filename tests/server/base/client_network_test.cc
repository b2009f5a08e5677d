#include "server/base/client_network.h"

#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(ClientNetwork, IsTheAddressOrTheFirstHalfOfALongOne) {
  const auto text = [](std::string_view peer) { return NetworkText(NetworkOfPeer(peer)); };
  EXPECT_EQ(text("ipv4:192.0.2.1:443"), "192.0.2.1");
  EXPECT_EQ(text("ipv6:[2001:db8:1:2:3:4:5:6]:443"), "2001:db8:1:2::/64");
  EXPECT_EQ(text("ipv6:%5B2001:db8:1:2:aaaa::1%5D:80"), "2001:db8:1:2::/64");
  EXPECT_EQ(text("ipv6:%5Bfe80::1%25eth0%5D:80"), "fe80::/64");
  // IPv4 addresses in IPv6 form count as the same client.
  EXPECT_EQ(text("ipv6:[::ffff:192.0.2.1]:443"), "192.0.2.1");
  EXPECT_EQ(text("ipv6:[::1]:443"), "::1");
  for (const char* other : {"", "ipv4:", "ipv4:nonsense", "unix:/tmp/x", "ipv6:[zz]:1", "ipv4:1"}) {
    EXPECT_EQ(text(other), "an unknown address") << other;
  }
}

TEST(Peers, AreOfOneAddressAndPort) {
  const Peer peer{.address = IpAddress::OfIpv4(0xc0000201), .port = 443};
  EXPECT_EQ(PeerNamed("ipv4:192.0.2.1:443"), peer);
  EXPECT_EQ(PeerNamed("ipv6:%5B::ffff:192.0.2.1%5D:443"), peer);
  EXPECT_NE(PeerNamed("ipv4:192.0.2.1:44"), peer);
  EXPECT_NE(PeerNamed("ipv6:%5B2001:db8::1%5D:443"), PeerNamed("ipv6:%5B2001:db8::2%5D:443"));
  EXPECT_EQ(PeerNamed("unix:/tmp/x"), Peer());
  EXPECT_EQ(PeerOfSocket(-1), Peer());
}

TEST(ClientNetwork, OfOneNetworkIsOne) {
  EXPECT_EQ(NetworkOfPeer("ipv6:[2001:db8::1]:1"), NetworkOfPeer("ipv6:[2001:db8::ffff]:2"));
  EXPECT_NE(NetworkOfPeer("ipv6:[2001:db8::1]:1"), NetworkOfPeer("ipv6:[2001:db8:0:1::1]:1"));
  EXPECT_NE(NetworkOfPeer("ipv4:192.0.2.1:1"), NetworkOfPeer("ipv4:192.0.2.2:1"));
  EXPECT_TRUE(NetworkOfSocket(-1).none());
}

}  // namespace
}  // namespace freshet
