#include "server/base/client_network.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace freshet {
namespace {

IpAddress FromBytes(const unsigned char* bytes) {
  IpAddress address;
  for (size_t i = 0; i < address.pieces.size(); ++i) {
    address.pieces[i] = static_cast<uint16_t>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
  }
  return address;
}

// Removes the brackets, which gRPC may have percent-encoded.
std::string_view Unbracketed(std::string_view host) {
  for (const std::string_view open : {"[", "%5B", "%5b"}) {
    if (host.starts_with(open)) host.remove_prefix(open.size());
  }
  for (const std::string_view end : {"]", "%5D", "%5d"}) {
    if (host.ends_with(end)) host.remove_suffix(end.size());
  }
  return host;
}

}  // namespace

IpAddress NetworkOf(const IpAddress& address) {
  if (address.ipv4()) return address;
  IpAddress network = address;
  std::fill(network.pieces.begin() + 4, network.pieces.end(), uint16_t{0});
  // The first half of the loopback address ::1 is zero, so this address stays whole.
  return network.none() ? address : network;
}

Peer PeerOfSocket(int descriptor) {
  sockaddr_storage peer{};
  socklen_t size = sizeof(peer);
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return {};
  if (peer.ss_family == AF_INET) {
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, &peer, sizeof(ipv4));
    return {.address = IpAddress::OfIpv4(ntohl(ipv4.sin_addr.s_addr)),
            .port = ntohs(ipv4.sin_port)};
  }
  if (peer.ss_family == AF_INET6) {
    sockaddr_in6 ipv6{};
    std::memcpy(&ipv6, &peer, sizeof(ipv6));
    return {.address = FromBytes(ipv6.sin6_addr.s6_addr), .port = ntohs(ipv6.sin6_port)};
  }
  return {};
}

Peer PeerNamed(std::string_view peer) {
  if (!peer.starts_with("ipv4:") && !peer.starts_with("ipv6:")) return {};
  peer.remove_prefix(5);
  const size_t colon = peer.rfind(':');
  if (colon == std::string_view::npos) return {};
  std::string_view host = Unbracketed(peer.substr(0, colon));
  // The zone names an interface of this machine and says nothing about the client.
  host = host.substr(0, host.find('%'));
  const auto address = ParseIpAddress(host);
  if (!address) return {};
  Peer named{.address = *address};
  (void)std::from_chars(peer.data() + colon + 1, peer.data() + peer.size(), named.port);
  return named;
}

IpAddress NetworkOfSocket(int descriptor) { return NetworkOf(PeerOfSocket(descriptor).address); }

IpAddress NetworkOfPeer(std::string_view peer) { return NetworkOf(PeerNamed(peer).address); }

std::string NetworkText(const IpAddress& network) {
  if (network.none()) return "an unknown address";
  const bool part = !network.ipv4() && NetworkOf(network) == network &&
                    std::all_of(network.pieces.begin() + 4, network.pieces.end(),
                                [](uint16_t piece) { return piece == 0; });
  return IpAddressText(network) + (part ? "/64" : "");
}

}  // namespace freshet
