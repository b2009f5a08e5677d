#include "server/ports/lobby.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "server/ports/refusal.h"

namespace freshet {
namespace {

// Connections that are served before the thread does other work.
constexpr int kEventsAtOnce = 64;
// The first TLS records, in every version, belong to a handshake. A record header has one more
// version byte and two length bytes after these bytes.
constexpr std::string_view kTlsHandshake = "\x16\x03";
constexpr size_t kTlsHeadBytes = 5;
constexpr size_t kMostTlsBytes = size_t{16} << 10;
// The handshake message in the records also has a header: the type ClientHello and three length
// bytes.
constexpr size_t kHelloHeadBytes = 4;
constexpr char kClientHello = 1;
// Honest clients need one or two records.
constexpr size_t kMostHelloRecords = 8;
constexpr size_t kMostHelloBytes = kMostTlsBytes + kMostHelloRecords * kTlsHeadBytes;

// Makes the kernel report the socket as readable only if at least `bytes` bytes are available.
void WakeAt(int socket, int bytes) {
  (void)setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
}

size_t NumberOf(std::string_view bytes) {
  size_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
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
    const auto [said, needed] = Listen(socket);
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

Lobby::Heard Lobby::ListenForHello(std::string_view said) {
  std::string hello;
  size_t needed = 0;
  for (size_t records = 0; records < kMostHelloRecords; ++records) {
    const std::string_view record = said.substr(needed);
    if (!kTlsHandshake.starts_with(record.substr(0, kTlsHandshake.size()))) break;
    needed += kTlsHeadBytes;
    if (said.size() < needed) return {Said::kPart, needed};
    const auto length = NumberOf(record.substr(3, 2));
    if (length == 0 || length > kMostTlsBytes) break;
    hello += record.substr(kTlsHeadBytes, length);
    needed += length;
    if (!hello.empty() && hello[0] != kClientHello) break;
    const bool headed = hello.size() >= kHelloHeadBytes;
    const size_t all = headed ? kHelloHeadBytes + NumberOf({&hello[1], kHelloHeadBytes - 1}) : 0;
    if (all > kMostTlsBytes || needed > kMostHelloBytes) break;
    if (said.size() < needed) return {Said::kPart, needed};
    if (headed && hello.size() >= all) return {Said::kPreface, needed};
  }
  return {Said::kSomethingElse, needed};
}

Lobby::Heard Lobby::Listen(int socket) const {
  const bool tls = speech_ == Speech::kTls;
  char bytes[kMostHelloBytes];
  const size_t most = tls ? sizeof(bytes) : kHttp2Preface.size();
  const ssize_t n = recv(socket, bytes, most, MSG_PEEK | MSG_DONTWAIT);
  const size_t first = tls ? kTlsHeadBytes : kHttp2Preface.size();
  if (n <= 0) return {Said::kNothing, first};
  const std::string_view said(bytes, static_cast<size_t>(n));
  if (tls) return ListenForHello(said);
  if (!kHttp2Preface.starts_with(said)) return {Said::kSomethingElse, first};
  return {said.size() < first ? Said::kPart : Said::kPreface, first};
}

void Lobby::Forget(int socket) {
  const auto it = by_socket_.find(socket);
  CHECK(it != by_socket_.end(), "does not wait");
  waiting_.erase(it->second);
  by_socket_.erase(it);
  (void)epoll_ctl(epoll_, EPOLL_CTL_DEL, socket, nullptr);
}

}  // namespace freshet
