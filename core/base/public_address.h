// Decides to which addresses strangers may send a server. A name can mean any address, also one of
// this machine or its network, which strangers could not reach themselves.
#ifndef FRESHET_CORE_BASE_PUBLIC_ADDRESS_H_
#define FRESHET_CORE_BASE_PUBLIC_ADDRESS_H_

#include "core/base/ip_address.h"

namespace freshet {

// Whether an address is one of the public internet. Not public: unspecified, loopback, private,
// link-local, carriers (100.64/10), documentation, benchmarks, protocols, multicast, broadcast and
// reserved ones. The same holds for IPv6 that only wraps such an IPv4 address (mapped, compatible,
// NAT64, 6to4, Teredo). Other IPv6 must be global unicast (2000::/3). Thread-safe.
[[nodiscard]] bool IsPublicAddress(const IpAddress& address);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_PUBLIC_ADDRESS_H_
