// What tells clients apart that do not say who they are: the network they come from. Whoever has an
// IPv6 address has 2^64 of them, so the first half of one counts; an IPv4 address counts as a
// whole.
#ifndef FRESHET_SERVER_BASE_CLIENT_NETWORK_H_
#define FRESHET_SERVER_BASE_CLIENT_NETWORK_H_

#include <string>
#include <string_view>

#include "core/base/ip_address.h"

namespace freshet {

// All functions are thread-safe.

// The network of an address; IPv4 addresses that IPv6 maps are their own.
[[nodiscard]] IpAddress NetworkOf(const IpAddress& address);
// That of the other side of a connected socket; none for other families, and if it is gone.
[[nodiscard]] IpAddress NetworkOfSocket(int descriptor);
// That of a peer as gRPC names it: "ipv4:192.0.2.1:443", "ipv6:%5B2001:db8::1%5D:443"; none for
// what is no address.
[[nodiscard]] IpAddress NetworkOfPeer(std::string_view peer);
// "192.0.2.1", "2001:db8::/64"; "an unknown address" for none.
[[nodiscard]] std::string NetworkText(const IpAddress& network);

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_CLIENT_NETWORK_H_
