#include "server/ports/listen.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "server/base/host_port.h"

namespace freshet {
namespace {

// Attempts to find a port that is free on every address of a host.
constexpr int kPortAttempts = 20;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

std::string ErrorText(int error) { return std::generic_category().message(error); }

Status CannotListen(const std::string& address, const std::string& reason) {
  return MakeStatus(absl::StatusCode::kUnavailable, "cannot listen at {}: {}", address, reason);
}

StatusOr<Addresses> Resolve(const std::string& address, const HostPort& where) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* first = nullptr;
  const int error =
      getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &hints, &first);
  if (error == 0) return Addresses(first, &freeaddrinfo);
  return CannotListen(address, error == EAI_SYSTEM ? ErrorText(errno) : gai_strerror(error));
}

void Allow(int socket, int level, int option, int value) {
  (void)setsockopt(socket, level, option, &value, sizeof value);
}

in_port_t& PortOf(sockaddr* name) {
  return name->sa_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(name)->sin6_port
                                     : reinterpret_cast<sockaddr_in*>(name)->sin_port;
}

// Listens at one address, on `port` instead of the address's port. Returns errno; 0 = success.
int Bind(const addrinfo& where, int port, ListeningSocket* out) {
  sockaddr_storage storage{};
  std::memcpy(&storage, where.ai_addr, where.ai_addrlen);
  auto* name = reinterpret_cast<sockaddr*>(&storage);
  PortOf(name) = htons(static_cast<uint16_t>(port));
  const bool ipv6 = where.ai_family == AF_INET6;
  const int listener =
      socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, where.ai_protocol);
  if (listener < 0) return errno;
  // With SO_REUSEADDR a restart need not wait until the connections of the previous process have
  // timed out. Without SO_REUSEPORT no second process can listen here and get half of the calls.
  Allow(listener, SOL_SOCKET, SO_REUSEADDR, 1);
  if (ipv6) Allow(listener, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  socklen_t size = where.ai_addrlen;
  if (bind(listener, name, size) != 0 || listen(listener, SOMAXCONN) != 0 ||
      getsockname(listener, name, &size) != 0) {
    const int error = errno;
    close(listener);
    return error;
  }
  *out = {.descriptor = listener, .port = ntohs(PortOf(name))};
  return 0;
}

bool IsAnyAddress4(const addrinfo& where) {
  return where.ai_family == AF_INET &&
         reinterpret_cast<const sockaddr_in*>(where.ai_addr)->sin_addr.s_addr == INADDR_ANY;
}

// Like Bind, but 0.0.0.0 also means any IPv6 address if the system has IPv6.
int BindAny(const addrinfo& where, int port, ListeningSocket* out) {
  if (IsAnyAddress4(where)) {
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_addr = in6addr_any;
    addrinfo both = where;
    both.ai_family = AF_INET6;
    both.ai_addr = reinterpret_cast<sockaddr*>(&any);
    both.ai_addrlen = sizeof(any);
    const int error = Bind(both, port, out);
    if (error == 0 || error == EADDRINUSE) return error;
  }
  return Bind(where, port, out);
}

// Listens at all of the addresses that this machine has, or at none. If it listened at only some of
// them, another server could hold the rest and get their calls. Returns errno; 0 = success.
int BindAll(const addrinfo& all, int port, std::vector<ListeningSocket>* out) {
  int error = 0;
  for (const addrinfo* one = &all; one != nullptr; one = one->ai_next) {
    ListeningSocket socket;
    const int failed = BindAny(*one, port, &socket);
    if (failed == 0) {
      port = socket.port;
      out->push_back(socket);
      continue;
    }
    error = failed;
    if (error != EADDRINUSE && error != EACCES) continue;  // the machine does not have this address
    for (const ListeningSocket& each : *out) close(each.descriptor);
    out->clear();
    return error;
  }
  return out->empty() ? error : 0;
}

}  // namespace

StatusOr<std::vector<ListeningSocket>> ListenEverywhere(const std::string& address) {
  ASSIGN_OR_RETURN(const HostPort where, ParseHostPort(address));
  ASSIGN_OR_RETURN(const Addresses all, Resolve(address, where));
  std::vector<ListeningSocket> sockets;
  // A port that is free on one address of a host might be taken on another.
  int error = 0;
  for (int attempt = 0; attempt < (where.port == 0 ? kPortAttempts : 1); ++attempt) {
    error = BindAll(*all, where.port, &sockets);
    if (error == 0) return sockets;
  }
  return CannotListen(address, ErrorText(error));
}

Status CheckListen(const std::string& address) {
  ASSIGN_OR_RETURN(const std::vector<ListeningSocket> sockets, ListenEverywhere(address));
  for (const ListeningSocket& socket : sockets) close(socket.descriptor);
  return absl::OkStatus();
}

}  // namespace freshet
