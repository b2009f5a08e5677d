// The network of a client, by which clients without an identity are distinguished. The network of
// an IPv6 address is its first half, because one owner has 2^64 addresses. The network of an IPv4
// address is the whole address.
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

// The peer of a connected socket. No address = another address family, or the socket is gone.
[[nodiscard]] Peer PeerOfSocket(int descriptor);
// Parses gRPC's name of a peer, for example "ipv4:192.0.2.1:443" or "ipv6:%5B2001:db8::1%5D:443".
// No address = the name holds no IP address.
[[nodiscard]] Peer PeerNamed(std::string_view peer);
// The network of an address. An IPv4-mapped IPv6 address is treated as an IPv4 address.
[[nodiscard]] IpAddress NetworkOf(const IpAddress& address);
// The networks of PeerOfSocket and PeerNamed.
[[nodiscard]] IpAddress NetworkOfSocket(int descriptor);
[[nodiscard]] IpAddress NetworkOfPeer(std::string_view peer);
// The network as text, for example "192.0.2.1" or "2001:db8::/64"; "an unknown address" if the
// network is none.
[[nodiscard]] std::string NetworkText(const IpAddress& network);

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_CLIENT_NETWORK_H_
