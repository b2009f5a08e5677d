#include "server/listen.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "server/config.h"

namespace freshet {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

std::string ErrnoText() { return std::generic_category().message(errno); }

bool Allow(int socket, int level, int option, int value) {
  return setsockopt(socket, level, option, &value, sizeof value) == 0;
}

// With errno set when it is not possible.
bool Bind(int socket, const addrinfo& address) {
  // A restart need not wait for connections of the process before to be forgotten.
  if (!Allow(socket, SOL_SOCKET, SO_REUSEADDR, 1)) return false;
  if (address.ai_family == AF_INET6 && !Allow(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0)) return false;
  return bind(socket, address.ai_addr, address.ai_addrlen) == 0 && listen(socket, SOMAXCONN) == 0;
}

int PortOf(int socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  auto* generic = reinterpret_cast<sockaddr*>(&name);
  if (getsockname(socket, generic, &size) != 0) return -1;
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&name)->sin6_port
                                          : reinterpret_cast<sockaddr_in*>(&name)->sin_port);
}

}  // namespace

StatusOr<ListeningSocket> Listen(const std::string& address) {
  ASSIGN_OR_RETURN(const HostPort where, ParseHostPort(address));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* first = nullptr;
  const int error =
      getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &hints, &first);
  if (error != 0) {
    return MakeStatus(absl::StatusCode::kUnavailable, "cannot listen at {}: {}", address,
                      error == EAI_SYSTEM ? ErrnoText() : gai_strerror(error));
  }
  const Addresses addresses(first, &freeaddrinfo);
  std::string reason = "the name has no address";
  for (const addrinfo* a = addresses.get(); a != nullptr; a = a->ai_next) {
    const int descriptor =
        socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    if (descriptor >= 0 && Bind(descriptor, *a)) {
      return ListeningSocket{
          .descriptor = descriptor, .ipv6 = a->ai_family == AF_INET6, .port = PortOf(descriptor)};
    }
    reason = ErrnoText();
    if (descriptor >= 0) close(descriptor);
  }
  return MakeStatus(absl::StatusCode::kUnavailable, "cannot listen at {}: {}", address, reason);
}

Status CheckListen(const std::string& address) {
  ASSIGN_OR_RETURN(const ListeningSocket socket, Listen(address));
  close(socket.descriptor);
  return absl::OkStatus();
}

}  // namespace freshet
