// The network that a client comes from, which tells apart clients without an identity. An IPv6
// address counts by its first half, because its owner has 2^64 of them; an IPv4 address counts as a
// whole.
#ifndef FRESHET_SERVER_BASE_CLIENT_NETWORK_H_
#define FRESHET_SERVER_BASE_CLIENT_NETWORK_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "core/base/ip_address.h"

namespace freshet {

// The other side of a connection. Value type, thread-compatible.
struct Peer {
  IpAddress address;
  uint16_t port = 0;
  auto operator<=>(const Peer& other) const {
    return std::tie(address.pieces, port) <=> std::tie(other.address.pieces, other.port);
  }
  bool operator==(const Peer&) const = default;
};

// All functions are thread-safe.

// The peer of a connected socket; none = another family, or the socket is gone.
[[nodiscard]] Peer PeerOfSocket(int descriptor);
// The peer with this name of gRPC: "ipv4:192.0.2.1:443", "ipv6:%5B2001:db8::1%5D:443"; none = it is
// no address.
[[nodiscard]] Peer PeerNamed(std::string_view peer);
// The network of an address; IPv4 addresses that IPv6 maps are their own.
[[nodiscard]] IpAddress NetworkOf(const IpAddress& address);
// The networks of PeerOfSocket and PeerNamed.
[[nodiscard]] IpAddress NetworkOfSocket(int descriptor);
[[nodiscard]] IpAddress NetworkOfPeer(std::string_view peer);
// "192.0.2.1", "2001:db8::/64"; "an unknown address" for none.
[[nodiscard]] std::string NetworkText(const IpAddress& network);

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_CLIENT_NETWORK_H_
