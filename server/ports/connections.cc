#include "server/ports/connections.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "core/base/check.h"
#include "core/base/shares.h"
#include "fmt/format.h"
#include "server/base/grpc_threads.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

// How long a refused client has to read the reason, and how many refused connections may be open
// for this purpose, because each holds a descriptor.
constexpr Duration kFarewell = Duration::Seconds(1);
constexpr size_t kMaxLeaving = 16;
// The least time between two recounts. A recount makes a system call for each connection.
constexpr Duration kRecount = Duration::Millis(50);
constexpr Duration kStatsRecount = Duration::Millis(500);
// A connection that is silent for this long is closed.
constexpr Duration kSilence = Duration::Seconds(20);
// The longest wait for a handshake, which takes gRPC a millisecond or two. After this time an
// unanswered handshake, for example on a busy machine, no longer holds up the next one.
constexpr Duration kLongestHandshake = Duration::Seconds(1);
// The offset of tcpi_data_segs_out in Linux's tcp_info, which is larger than the struct in
// netinet/tcp.h.
constexpr size_t kDataSegmentsOut = 156;

void Send(int descriptor, const std::string& bytes) {
  (void)!send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

Connections::Connections(size_t limit, size_t per_client, Clock& clock, Speech speech)
    : limit_(limit), per_client_(per_client), speech_(speech), clock_(clock), lobby_(speech) {
  stats_.limit = limit;
}

Connections::~Connections() { Stop(); }

void Connections::Start(HandOver hand_over, Closed closed) {
  CHECK(acceptor_.listens(), "not listening");
  hand_over_ = std::move(hand_over);
  closed_ = std::move(closed);
  thread_.Start([this] { Run(); });
}

void Connections::Stop() {
  thread_.Stop();
  acceptor_.Close();
  while (!to_shake_hands_.empty()) close(to_shake_hands_.Pop());
}

void Connections::CutAll() {
  const MutexLock lock(mutex_);
  Recount(clock_.Now());
  for (const auto& [descriptor, one] : open_) (void)shutdown(descriptor, SHUT_RDWR);
}

void Connections::Cut(const std::set<Peer>& peers) {
  if (peers.empty()) return;
  const MutexLock lock(mutex_);
  Recount(clock_.Now());
  for (const auto& [descriptor, one] : open_) {
    if (!peers.contains(PeerOfSocket(descriptor))) continue;
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    (void)shutdown(descriptor, SHUT_RDWR);
  }
}

ConnectionStats Connections::stats() const {
  const MutexLock lock(mutex_);
  if (const Instant now = clock_.Now(); now >= recounted_ + kStatsRecount) Recount(now);
  ConnectionStats stats = stats_;
  stats.open = open_.size() + waiting_;
  return stats;
}

void Connections::Run() {
  while (true) {
    const Instant now = clock_.Now();
    SeeOff(now, false);
    Attend(now);
    std::vector<pollfd> polled = {thread_.end(),
                                  {.fd = lobby_.descriptor(), .events = POLLIN, .revents = 0}};
    for (const Leaving& one : leaving_) {
      polled.push_back({.fd = one.descriptor, .events = POLLIN, .revents = 0});
    }
    const size_t first = polled.size();
    acceptor_.AddTo(&polled, now);
    const auto millis = std::max<int64_t>(0, Patience(now).micros() / 1000 + 1);
    if (poll(polled.data(), polled.size(), static_cast<int>(millis)) <= 0) continue;
    if (polled[0].revents != 0) break;
    for (size_t i = first; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      const Instant then = clock_.Now();
      const auto take = [this, then](int descriptor) { Take(descriptor, then); };
      if (acceptor_.Accept(polled[i].fd, then, take)) continue;
      const MutexLock lock(mutex_);
      ++stats_.failed;
    }
  }
  SeeOff(clock_.Now(), true);
}

Duration Connections::Patience(Instant now) const {
  Duration wait = Duration::Hours(1);
  if (!leaving_.empty()) wait = std::min(wait, leaving_.front().until - now);
  if (const auto overdue = lobby_.next_overdue()) wait = std::min(wait, *overdue - now);
  if (const Instant rested = acceptor_.resting_until(); rested > now) {
    wait = std::min(wait, rested - now);
  }
  // gRPC does not report when it has answered, so the thread polls.
  if (!to_shake_hands_.empty()) wait = std::min(wait, Duration::Millis(1));
  return wait;
}

void Connections::Take(int descriptor, Instant now) {
  // Without this option, a peek stops at urgent data, and the bytes after the urgent data wake the
  // thread again and again.
  const int on = 1;
  (void)setsockopt(descriptor, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on));
  {
    const MutexLock lock(mutex_);
    Forget(descriptor);  // gRPC has closed the previous socket with this descriptor
    if (Full() && now >= recounted_ + kRecount) Recount(now);
  }
  // Hands over the connections that have begun to speak, so that they are not taken for silent
  // ones.
  if (lobby_.size() > 0) Attend(now);
  bool full = false;
  {
    const MutexLock lock(mutex_);
    full = Full();
    if (full) ++stats_.refused;
  }
  const int one_too_many = full && lobby_.size() > 0 ? lobby_.TakeOldest() : descriptor;
  if (full) {
    Refuse(one_too_many,
           fmt::format("{} connections are open, the most that this server takes", limit_), now);
    if (one_too_many == descriptor) return;
  }
  if (!lobby_.Enter(descriptor, now + kSilence)) close(descriptor);
  const MutexLock lock(mutex_);
  TellOfLobby();
}

bool Connections::Full() const { return open_.size() + lobby_.size() >= limit_; }

void Connections::Attend(Instant now) {
  const std::vector<int> spoken = lobby_.Spoken();
  for (const int descriptor : spoken) HandOne(descriptor, now);
  lobby_.CloseOverdue(now);
  ShakeHands(now);
  const MutexLock lock(mutex_);
  TellOfLobby();
}

bool Connections::FullOf(const IpAddress& network, Instant now) {
  const auto full = [&]() FRESHET_REQUIRES(mutex_) {
    const auto it = by_network_.find(network);
    const size_t held = it == by_network_.end() ? 0 : it->second;
    return held >= per_client_ || !MayTakePlace(held, open_.size(), limit_);
  };
  if (!full()) return false;
  if (now >= recounted_ + kRecount) Recount(now);
  return full();
}

void Connections::HandOne(int descriptor, Instant now) {
  Open one;
  if (!IdentityOf(descriptor, &one.identity)) {
    close(descriptor);
    return;
  }
  one.network = NetworkOfSocket(descriptor);
  bool full = false;
  size_t held = 0;
  {
    const MutexLock lock(mutex_);
    Forget(descriptor);
    full = FullOf(one.network, now);
    if (full) {
      const auto its = by_network_.find(one.network);
      if (its != by_network_.end()) held = its->second;
      ++stats_.refused;
      ++stats_.refused_by_client;
    } else {
      ++stats_.accepted;
      ++by_network_[one.network];
      open_[descriptor] = one;
    }
    TellOfLobby();
  }
  if (full) {
    return Refuse(
        descriptor,
        fmt::format("{} connections from {} are open, the most that one client may have{}", held,
                    NetworkText(one.network), held < per_client_ ? " now" : ""),
        now);
  }
  const int on = 1;
  (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (speech_ == Speech::kTls) return to_shake_hands_.Push(one.network.pieces, descriptor);
  hand_over_(descriptor);
}

void Connections::ShakeHands(Instant now) {
  std::erase_if(shaking_, [now](const Shaking& one) { return one.until <= now || Answered(one); });
  while (!to_shake_hands_.empty() && shaking_.size() < GrpcThreadsForLongWork()) {
    const int descriptor = to_shake_hands_.Pop();
    Shaking next = {.descriptor = descriptor, .until = now + kLongestHandshake};
    pollfd gone = {.fd = descriptor, .events = POLLRDHUP, .revents = 0};
    if (poll(&gone, 1, 0) > 0 || !IdentityOf(descriptor, &next.identity)) {
      const MutexLock lock(mutex_);
      Forget(descriptor);
      close(descriptor);
      continue;
    }
    shaking_.push_back(next);
    hand_over_(descriptor);
  }
}

bool Connections::Answered(const Shaking& one) {
  Identity identity;
  if (!IdentityOf(one.descriptor, &identity) || identity != one.identity) return true;
  uint32_t sent = 0;
  std::array<char, kDataSegmentsOut + sizeof(sent)> info{};
  socklen_t size = info.size();
  if (getsockopt(one.descriptor, IPPROTO_TCP, TCP_INFO, info.data(), &size) != 0) return true;
  std::memcpy(&sent, info.data() + kDataSegmentsOut, sizeof(sent));
  return size < info.size() || sent > 0;
}

void Connections::TellOfLobby() {
  waiting_ = lobby_.size();
  stats_.silent = lobby_.closed();
}

void Connections::Refuse(int descriptor, std::string_view why, Instant now) {
  // A TLS client would not accept a plain-text reason before the handshake.
  if (speech_ == Speech::kTls) {
    close(descriptor);
    return;
  }
  if (leaving_.size() >= kMaxLeaving) {
    Tell(leaving_.front());
    close(leaving_.front().descriptor);
    leaving_.pop_front();
  }
  leaving_.push_back({.descriptor = descriptor,
                      .until = now + kFarewell,
                      .refusal = Refusal(fmt::format("{}: close some, or try again later", why))});
  Send(descriptor, leaving_.back().refusal.Greeting());
}

void Connections::Tell(Leaving& leaving) {
  if (std::exchange(leaving.told, true)) return;
  Send(leaving.descriptor, leaving.refusal.Farewell());
  // Closing a socket with unread bytes would reset the connection, and the client would lose the
  // reason.
  (void)shutdown(leaving.descriptor, SHUT_WR);
}

void Connections::Recount(Instant now) const {
  recounted_ = now;
  std::vector<int> closed;
  for (const auto& [descriptor, one] : open_) {
    Identity identity;
    if (!IdentityOf(descriptor, &identity) || identity != one.identity) {
      closed.push_back(descriptor);
    }
  }
  for (const int descriptor : closed) Forget(descriptor);
}

void Connections::Forget(int descriptor) const {
  const auto it = open_.find(descriptor);
  if (it == open_.end()) return;
  const auto network = by_network_.find(it->second.network);
  CHECK(network != by_network_.end(), "a connection is not counted");
  if (--network->second == 0) by_network_.erase(network);
  open_.erase(it);
  if (closed_) closed_(descriptor);
}

void Connections::SeeOff(Instant now, bool all) {
  std::erase_if(leaving_, [&](Leaving& one) {
    char bytes[4096];
    ssize_t read = 0;
    // The number of reads is bounded because a client could send forever.
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
