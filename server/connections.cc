#include "server/connections.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "core/base/check.h"
#include "fmt/format.h"
#include "server/config.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

// Tries to find a port that is free at every address of a host.
constexpr int kPortAttempts = 20;
// Connections accepted before the thread looks at anything else.
constexpr int kAcceptsAtOnce = 64;
// Refused ones may read why for so long, so many at a time: they hold a descriptor each.
constexpr Duration kFarewell = Duration::Seconds(1);
constexpr size_t kMaxLeaving = 16;
// Counting again costs a system call for each connection.
constexpr Duration kRecount = Duration::Millis(50);
constexpr Duration kStatsRecount = Duration::Millis(500);
// Without descriptors or memory in the system accepting fails at once, again and again.

constexpr Duration kRest = Duration::Millis(100);

Status CannotListen(const std::string& address, const std::string& reason) {
  return MakeStatus(absl::StatusCode::kUnavailable, "listen: cannot listen at {}: {}", address,
                    reason);
}

// A listening socket at the address, whose port is set when it was 0. Minus errno on failure.
int Bind(const addrinfo& where, int* port) {
  sockaddr_storage storage{};
  std::memcpy(&storage, where.ai_addr, where.ai_addrlen);
  auto* any = reinterpret_cast<sockaddr*>(&storage);
  in_port_t& bound = where.ai_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(any)->sin6_port
                                                 : reinterpret_cast<sockaddr_in*>(any)->sin_port;
  bound = htons(static_cast<uint16_t>(*port));
  const int listener =
      socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  if (listener < 0) return -errno;
  const int on = 1;
  const int off = 0;
  // A port whose last connections are still being taken leave of may be used again. Without
  // SO_REUSEPORT no second process can listen there and get half of the calls.
  (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  (void)setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (where.ai_family == AF_INET6) {
    (void)setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  socklen_t size = where.ai_addrlen;
  if (bind(listener, any, size) != 0 || listen(listener, SOMAXCONN) != 0 ||
      getsockname(listener, any, &size) != 0) {
    const int error = errno;
    close(listener);
    return -error;
  }
  *port = ntohs(bound);
  return listener;
}

bool IsAnyAddress4(const addrinfo& where) {
  return where.ai_family == AF_INET &&
         reinterpret_cast<const sockaddr_in*>(where.ai_addr)->sin_addr.s_addr == INADDR_ANY;
}

// Any IPv4 address means any address at all where the system has IPv6.
int BindAny(const addrinfo& where, int* port) {
  if (IsAnyAddress4(where)) {
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_addr = in6addr_any;
    addrinfo both = where;
    both.ai_family = AF_INET6;
    both.ai_addr = reinterpret_cast<sockaddr*>(&any);
    both.ai_addrlen = sizeof(any);
    const int listener = Bind(both, port);
    if (listener >= 0 || listener == -EADDRINUSE) return listener;
  }
  return Bind(where, port);
}

// Listens at all addresses that the system has, or at none: half of a host would be another
// server's. Returns errno.
int BindAll(const addrinfo& all, int* port, std::vector<int>* listeners) {
  int error = 0;
  for (const addrinfo* one = &all; one != nullptr; one = one->ai_next) {
    const int listener = BindAny(*one, port);
    if (listener >= 0) {
      listeners->push_back(listener);
      continue;
    }
    error = -listener;
    if (error != EADDRINUSE && error != EACCES) continue;  // an address that is not there
    for (const int each : std::exchange(*listeners, {})) close(each);
    return error;
  }
  return listeners->empty() ? error : 0;
}

bool IsOutOfSomething(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

void Send(int descriptor, const std::string& bytes) {
  (void)!send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

Connections::Connections(size_t limit, Clock& clock) : limit_(limit), clock_(clock) {
  stats_.limit = limit;
}

Connections::~Connections() { Stop(); }

StatusOr<int> Connections::Listen(const std::string& address) {
  CHECK(listeners_.empty(), "listens already");
  ASSIGN_OR_RETURN(const HostPort where, ParseHostPort(address));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int unknown =
      getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &hints, &found);
  if (unknown != 0) return CannotListen(address, gai_strerror(unknown));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, freeaddrinfo);
  // A port that is free at one address of a host may be taken at another.
  int error = 0;
  for (int attempt = 0; attempt < (where.port == 0 ? kPortAttempts : 1); ++attempt) {
    int port = where.port;
    error = BindAll(*all, &port, &listeners_);
    if (error == 0) return port;
  }
  return CannotListen(address, std::strerror(error));
}

void Connections::Start(HandOver hand_over) {
  CHECK(!thread_.joinable() && !listeners_.empty(), "not listening, or started already");
  hand_over_ = std::move(hand_over);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CHECK(wake_ >= 0, "eventfd: {}", std::strerror(errno));
  thread_ = std::thread([this] { Run(); });
}

void Connections::Stop() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    (void)!write(wake_, &one, sizeof(one));
    thread_.join();
    close(std::exchange(wake_, -1));
  }
  for (const int listener : std::exchange(listeners_, {})) close(listener);
}

ConnectionStats Connections::stats() const {
  const MutexLock lock(mutex_);
  if (const Instant now = clock_.Now(); now >= recounted_ + kStatsRecount) Recount(now);
  ConnectionStats stats = stats_;
  stats.open = open_.size();
  return stats;
}

void Connections::Run() {
  while (true) {
    const Instant now = clock_.Now();
    SeeOff(now, false);
    std::vector<pollfd> polled = {{.fd = wake_, .events = POLLIN, .revents = 0}};
    for (const Leaving& one : leaving_) {
      polled.push_back({.fd = one.descriptor, .events = POLLIN, .revents = 0});
    }
    const size_t first = polled.size();
    Duration wait = leaving_.empty() ? Duration::Hours(1) : leaving_.front().until - now;
    if (resting_until_ > now) {
      wait = std::min(wait, resting_until_ - now);
    } else {
      for (const int listener : listeners_) {
        polled.push_back({.fd = listener, .events = POLLIN, .revents = 0});
      }
    }
    const auto millis = std::max<int64_t>(0, wait.micros() / 1000 + 1);
    if (poll(polled.data(), polled.size(), static_cast<int>(millis)) <= 0) continue;
    if (polled[0].revents != 0) break;
    for (size_t i = first; i < polled.size(); ++i) {
      if (polled[i].revents != 0) Accept(polled[i].fd, clock_.Now());
    }
  }
  SeeOff(clock_.Now(), true);
}

void Connections::Accept(int listener, Instant now) {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    const int descriptor = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor >= 0) {
      Take(descriptor, now);
    } else if (IsOutOfSomething(errno)) {
      resting_until_ = now + kRest;
      const MutexLock lock(mutex_);
      if (stats_.failed++ == 0) spdlog::warn("cannot accept connections: {}", std::strerror(errno));
      return;
    } else if (errno != ECONNABORTED && errno != EINTR) {
      return;  // nobody waits
    }
  }
}

void Connections::Take(int descriptor, Instant now) {
  Identity identity;
  if (!IdentityOf(descriptor, &identity)) {
    close(descriptor);
    return;
  }
  bool full = false;
  {
    const MutexLock lock(mutex_);
    open_.erase(descriptor);  // gRPC has closed the one that had this number
    if (open_.size() >= limit_ && now >= recounted_ + kRecount) Recount(now);
    full = open_.size() >= limit_;
    if (full) {
      ++stats_.refused;
    } else {
      ++stats_.accepted;
      open_[descriptor] = identity;
    }
  }
  if (full) return Refuse(descriptor, limit_, now);
  const int on = 1;
  (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  hand_over_(descriptor);
}

void Connections::Refuse(int descriptor, size_t limit, Instant now) {
  if (leaving_.size() >= kMaxLeaving) {
    Tell(leaving_.front());
    close(leaving_.front().descriptor);
    leaving_.pop_front();
  }
  leaving_.push_back({.descriptor = descriptor,
                      .until = now + kFarewell,
                      .refusal = Refusal(fmt::format(
                          "{} connections are open, the most that this server takes: close some, "
                          "or try again later",
                          limit))});
  Send(descriptor, leaving_.back().refusal.Greeting());
}

void Connections::Tell(Leaving& leaving) {
  if (std::exchange(leaving.told, true)) return;
  Send(leaving.descriptor, leaving.refusal.Farewell());
  // Closed with something unread it would be reset, and the reason lost.
  (void)shutdown(leaving.descriptor, SHUT_WR);
}

void Connections::Recount(Instant now) const {
  recounted_ = now;
  absl::erase_if(open_, [](const auto& entry) {
    Identity identity;
    return !IdentityOf(entry.first, &identity) || identity != entry.second;
  });
}

void Connections::SeeOff(Instant now, bool all) {
  std::erase_if(leaving_, [&](Leaving& one) {
    char bytes[4096];
    ssize_t read = 0;
    // Bounded: who keeps on sending is not listened to for ever.
    for (int i = 0; i < 4; ++i) {
      if ((read = recv(one.descriptor, bytes, sizeof(bytes), MSG_DONTWAIT)) <= 0) break;
      const std::string answer = one.refusal.Answer({bytes, static_cast<size_t>(read)});
      if (!one.told && !answer.empty()) Send(one.descriptor, answer);
    }
    const bool gone = read == 0 || (read < 0 && errno != EAGAIN && errno != EINTR);
    const bool over = all || now >= one.until;
    if (one.refusal.answered() || over) Tell(one);
    if (!gone && !over) return false;
    close(one.descriptor);
    return true;
  });
}

bool Connections::IdentityOf(int descriptor, Identity* identity) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return false;
  *identity = {.device = status.st_dev, .inode = status.st_ino};
  return true;
}

}  // namespace freshet
