#include "server/ports/acceptor.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "server/logs/loggers.h"
#include "server/ports/listen.h"

namespace freshet {
namespace {

// Connections that are accepted before the thread does other work.
constexpr int kAcceptsAtOnce = 64;
// The pause after the system ran out of descriptors or memory. Without it, accepting would fail in
// a busy loop.
constexpr Duration kRest = Duration::Millis(100);

bool IsOutOfSomething(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

StatusOr<int> Acceptor::Listen(const std::string& address) {
  CHECK(listeners_.empty(), "listens already");
  ASSIGN_OR_RETURN(const std::vector<ListeningSocket> sockets, ListenEverywhere(address));
  for (const ListeningSocket& socket : sockets) listeners_.push_back(socket.descriptor);
  return sockets.front().port;
}

void Acceptor::AddTo(std::vector<pollfd>* polled, Instant now) const {
  if (resting_until_ > now) return;
  for (const int listener : listeners_) {
    polled->push_back({.fd = listener, .events = POLLIN, .revents = 0});
  }
}

bool Acceptor::Accept(int listener, Instant now, const std::function<void(int)>& take) {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    const int descriptor = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor >= 0) {
      take(descriptor);
    } else if (IsOutOfSomething(errno)) {
      const char* why = std::strerror(errno);
      resting_until_ = now + kRest;
      if (const auto more = complaints_.Admit(now)) {
        Logger(LogModule::kPorts).warn("cannot accept connections: {}{}", why, *more);
      }
      return false;
    } else if (errno != ECONNABORTED && errno != EINTR) {
      return true;  // no connection waits
    }
  }
  return true;
}

void Acceptor::Close() {
  for (const int listener : std::exchange(listeners_, {})) close(listener);
}

}  // namespace freshet
