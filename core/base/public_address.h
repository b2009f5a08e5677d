// Which addresses a server may be sent to by what strangers say. A name can mean any address, also
// one of this machine or of the network that it stands in, which strangers could not reach
// themselves.
#ifndef FRESHET_CORE_BASE_PUBLIC_ADDRESS_H_
#define FRESHET_CORE_BASE_PUBLIC_ADDRESS_H_

#include "core/base/ip_address.h"

namespace freshet {

// Whether an address is one of the public internet: not unspecified, loopback, private, link-local,
// of carriers (100.64/10), for documentation, benchmarks or protocols, multicast, broadcast or
// reserved, also where IPv6 only wraps such an IPv4 address (mapped, compatible, NAT64, 6to4,
// Teredo); of IPv6 nothing but global unicast (2000::/3). Thread-safe.
[[nodiscard]] bool IsPublicAddress(const IpAddress& address);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_PUBLIC_ADDRESS_H_
