// Decides to which addresses a server may connect at the request of an untrusted client. The client
// chooses a host name, and the name can resolve to an address inside the server's machine or
// network, which the client itself cannot reach.
#ifndef FRESHET_CORE_BASE_PUBLIC_ADDRESS_H_
#define FRESHET_CORE_BASE_PUBLIC_ADDRESS_H_

#include "core/base/ip_address.h"

namespace freshet {

// Returns true for an address of the public internet. Not public: unspecified, loopback, private,
// link-local, carrier-grade NAT (100.64/10), documentation, benchmarks, protocol assignments,
// multicast, broadcast and reserved addresses. The same holds for IPv6 addresses that only wrap one
// of these IPv4 addresses (mapped, compatible, NAT64, 6to4, Teredo). Other IPv6 must be global
// unicast (2000::/3). Thread-safe.
[[nodiscard]] bool IsPublicAddress(const IpAddress& address);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_PUBLIC_ADDRESS_H_
