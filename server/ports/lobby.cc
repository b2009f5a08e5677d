#include "server/ports/lobby.h"

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "server/ports/refusal.h"

namespace freshet {
namespace {

// Connections that are looked at before the thread looks at anything else.
constexpr int kEventsAtOnce = 64;
// The first record of TLS, whatever its version, is a handshake. Its head has two more bytes of
// version and two of its length.
constexpr std::string_view kTlsHandshake = "\x16\x03";
constexpr size_t kTlsHeadBytes = 5;
constexpr size_t kMostTlsBytes = size_t{16} << 10;

// With fewer bytes than this the socket counts as having none.
void WakeAt(int socket, int bytes) {
  (void)setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
}

}  // namespace

Lobby::Lobby(Speech speech) : speech_(speech), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  CHECK(epoll_ >= 0, "epoll: {}", std::strerror(errno));
}

Lobby::~Lobby() {
  for (const Waiting& each : waiting_) close(each.socket);
  close(epoll_);
}

bool Lobby::Enter(int socket, Instant until) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.fd = socket;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event) != 0) return false;
  waiting_.push_back({.socket = socket, .until = until});
  by_socket_[socket] = std::prev(waiting_.end());
  return true;
}

std::vector<int> Lobby::Spoken() {
  epoll_event events[kEventsAtOnce];
  const int count = epoll_wait(epoll_, events, kEventsAtOnce, 0);
  std::vector<int> spoken;
  for (int i = 0; i < count; ++i) {
    const int socket = events[i].data.fd;
    size_t needed = 0;
    const Said said = Listen(socket, &needed);
    const bool ended = (events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    if (said == Said::kPreface) {
      Forget(socket);
      WakeAt(socket, 1);
      spoken.push_back(socket);
    } else if (said == Said::kSomethingElse || ended) {
      if (said != Said::kNothing) ++closed_;
      Forget(socket);
      close(socket);
    } else {
      WakeAt(socket, static_cast<int>(needed));
    }
  }
  return spoken;
}

int Lobby::TakeOldest() {
  CHECK(!waiting_.empty(), "nobody waits");
  const int socket = waiting_.front().socket;
  Forget(socket);
  WakeAt(socket, 1);
  return socket;
}

void Lobby::CloseOverdue(Instant now) {
  while (!waiting_.empty() && waiting_.front().until <= now) {
    const int socket = waiting_.front().socket;
    Forget(socket);
    close(socket);
    ++closed_;
  }
}

std::optional<Instant> Lobby::next_overdue() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.front().until;
}

Lobby::Said Lobby::Listen(int socket, size_t* needed) const {
  const bool tls = speech_ == Speech::kTls;
  const std::string_view beginning = tls ? kTlsHandshake : kHttp2Preface;
  *needed = tls ? kTlsHeadBytes : beginning.size();
  char bytes[kHttp2Preface.size()];
  const ssize_t n = recv(socket, bytes, *needed, MSG_PEEK | MSG_DONTWAIT);
  if (n <= 0) return Said::kNothing;
  const std::string_view said(bytes, static_cast<size_t>(n));
  if (!beginning.starts_with(said.substr(0, beginning.size()))) return Said::kSomethingElse;
  if (said.size() < *needed) return Said::kPart;
  if (!tls) return Said::kPreface;
  // All of the record: until then gRPC has nothing to do, and others may shake hands.
  const auto byte = [&said](size_t i) { return size_t{static_cast<uint8_t>(said[i])}; };
  const size_t length = byte(3) << 8 | byte(4);
  if (length == 0 || length > kMostTlsBytes) return Said::kSomethingElse;
  *needed += length;
  int there = 0;
  if (ioctl(socket, FIONREAD, &there) != 0) return Said::kSomethingElse;
  return static_cast<size_t>(there) < *needed ? Said::kPart : Said::kPreface;
}

void Lobby::Forget(int socket) {
  const auto it = by_socket_.find(socket);
  CHECK(it != by_socket_.end(), "does not wait");
  waiting_.erase(it->second);
  by_socket_.erase(it);
  (void)epoll_ctl(epoll_, EPOLL_CTL_DEL, socket, nullptr);
}

}  // namespace freshet
