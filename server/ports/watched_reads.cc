#include "server/ports/watched_reads.h"

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "server/base/client_network.h"
#include "server/base/log_limit.h"
#include "server/base/system_clock.h"
#include "server/logs/loggers.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

// Linux's default for the highest number of descriptors of a process (fs.nr_open).
constexpr size_t kMostDescriptors = 1 << 20;
// No limit on the number of bytes.
constexpr size_t kAny = SIZE_MAX;
// The maximum number of pieces that gRPC 1.51 passes to one `sendmsg`. If a call has this many,
// more pieces may follow.
constexpr size_t kMostPieces = 260;
// The end of a run (WireTurns), in units of FrameWatch::work: 8 calls, or 64 messages.
constexpr uint64_t kWorkOfRun = 64;

template <typename Function>
Function* Next(const char* name) {
  auto* const function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  CHECK(function != nullptr, "there is no {}", name);
  return function;
}

// A number that distinguishes a socket from earlier and later ones with the same descriptor; 0 = no
// socket.
uint64_t CookieOf(int descriptor) {
  uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  if (getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &size) != 0) return 0;
  return cookie;
}

// Whether the socket holds bytes that can be read.
bool HasBytes(int descriptor) {
  int bytes = 0;
  return ioctl(descriptor, FIONREAD, &bytes) == 0 && bytes > 0;
}

void TellOf(const FrameWatch& watch) {
  static Mutex mutex;
  static LogLimit complaints;
  const MutexLock lock(mutex);
  SystemClock clock;
  if (const auto more = complaints.Admit(clock.Now())) {
    Logger(LogModule::kPorts)
        .warn("closed a connection because its client sent too many {}{}", watch.excess(), *more);
  }
}

std::atomic<uint64_t> cut{0};

// One connection. gRPC may read and write it at the same time. Thread-safe.
class Connection {
 public:
  void Begin(int descriptor, const FrameLimits& limits, const WireBooks& books)
      FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Stop();
    descriptor_ = descriptor;
    network_ = NetworkOfSocket(descriptor);
    watch_.emplace(limits);
    account_.emplace(books.shares, network_);
    turns_ = books.turns;
  }
  // Stops watching until the next Begin.
  void End() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Stop();
  }
  // How many bytes may be read now; unset = the connection may not be read any more.
  [[nodiscard]] std::optional<size_t> MayRead() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (turns_ != nullptr && turns_->ended()) return std::nullopt;
    if (!watch_ || turns_ == nullptr || watch_->trusted() || !watch_->excess().empty()) {
      return kAny;
    }
    const bool ran = watch_->work() - run_began_ >= kWorkOfRun;
    const size_t most = turns_->MayRead(network_, descriptor_, ran && HasBytes(descriptor_));
    if (ran || most == 0) run_began_ = watch_->work();
    waited_ |= most == 0;
    // The rest of the current DATA frame may be read in addition, because it cannot open a call.
    return most == 0 ? 0 : most + watch_->data_left();
  }
  // Notes the end of a read. If the socket holds no bytes, the run ends now, because gRPC might not
  // try to read again.
  void HasRead() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (!watch_ || !waited_ || HasBytes(descriptor_)) return;
    run_began_ = watch_->work();
    waited_ = false;
    if (turns_ != nullptr) turns_->Drained(network_, descriptor_);
  }
  // Shows the received bytes to the watch. Returns true if the connection may continue.
  [[nodiscard]] bool Show(std::string_view bytes) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (!watch_) return true;
    if (!watch_->excess().empty()) return false;
    if (watch_->Take(bytes) && Count()) {
      TellTurns();
      return true;
    }
    OverLocked();
    ++cut;
    TellOf(*watch_);
    return false;
  }
  // Notes that the connection carries no more traffic. gRPC keeps the socket until it has ended all
  // calls of the connection.
  void Over() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (watch_) OverLocked();
  }
  // Shows bytes that are about to be sent. NotSent then says how many of them were not sent.
  void Sending(std::string_view bytes) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (!watch_) return;
    watch_->Sending(bytes);
    TellTurns();
  }
  void NotSent(size_t bytes) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (watch_) watch_->NotSent(bytes);
  }
  // Notes that the kernel has accepted everything that gRPC has written.
  void AllLeft() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (!watch_) return;
    watch_->AllLeft();
    (void)Count();  // calls whose answers were sent
    TellTurns();
  }

 private:
  void Stop() FRESHET_REQUIRES(mutex_) {
    if (turns_ != nullptr) {
      OverLocked();
      turns_->Forget(network_, descriptor_);
    }
    told_ = {};
    over_ = waited_ = false;
    run_began_ = 0;
    turns_ = nullptr;
    watch_.reset();
    account_.reset();
  }
  void OverLocked() FRESHET_REQUIRES(mutex_) {
    over_ = true;
    TellTurns();
  }
  void TellTurns() FRESHET_REQUIRES(mutex_) {
    if (turns_ == nullptr) return;
    WireCalls now = watch_->calls();
    // Calls from another server of the fleet are not counted, because they delay no other calls.
    // Once the connection has ended, gRPC does not get the bytes that were read last, so they open
    // no calls.
    if (watch_->trusted() || over_) now.opened = told_.opened;
    if (over_) now.open = 0;
    if (over_) now.silent_over = now.silent_opened;
    if (now == told_) return;
    turns_->Count(network_, told_, now);
    told_ = now;
  }
  [[nodiscard]] bool Count() FRESHET_REQUIRES(mutex_) {
    const std::string_view excess = account_->Hold(watch_->held());
    if (!excess.empty()) watch_->Exceed(excess);
    return excess.empty();
  }

  Mutex mutex_;
  // Set from Begin to End.
  std::optional<FrameWatch> watch_ FRESHET_GUARDED_BY(mutex_);
  std::optional<WireAccount> account_ FRESHET_GUARDED_BY(mutex_);
  std::shared_ptr<WireTurns> turns_ FRESHET_GUARDED_BY(mutex_);
  int descriptor_ FRESHET_GUARDED_BY(mutex_) = -1;
  IpAddress network_ FRESHET_GUARDED_BY(mutex_);
  bool over_ FRESHET_GUARDED_BY(mutex_) = false;
  uint64_t run_began_ FRESHET_GUARDED_BY(mutex_) = 0;  // FrameWatch::work when the run began
  bool waited_ FRESHET_GUARDED_BY(mutex_) = false;     // has waited since the last Drained
  WireCalls told_ FRESHET_GUARDED_BY(mutex_);          // as last reported to turns_
};

// --- Sockets

struct WatchedSocket {
  std::atomic<uint64_t> cookie = 0;
  // The bytes on the socket itself are encrypted.
  std::atomic<bool> tls = false;
  Connection connection;
};

// Sockets by descriptor. Each entry is created once, and used again for the next connection with
// the same descriptor. A thread that still works with the previous connection then sees another
// socket, which it can detect only by the cookie.
std::atomic<WatchedSocket*>* Sockets() {
  static auto* const kSockets = new std::atomic<WatchedSocket*>[kMostDescriptors]();
  return kSockets;
}
std::atomic<bool> any_socket{false};

WatchedSocket* Watched(int descriptor) {
  if (!any_socket.load(std::memory_order_acquire) || descriptor < 0 ||
      static_cast<size_t>(descriptor) >= kMostDescriptors) {
    return nullptr;
  }
  return Sockets()[descriptor].load(std::memory_order_acquire);
}

// nullptr = the descriptor is too high.
WatchedSocket* Watch(int descriptor, bool tls, const FrameLimits& limits, const WireBooks& books) {
  if (descriptor < 0 || static_cast<size_t>(descriptor) >= kMostDescriptors) return nullptr;
  any_socket.store(true, std::memory_order_release);
  std::atomic<WatchedSocket*>& slot = Sockets()[descriptor];
  WatchedSocket* watched = slot.load(std::memory_order_acquire);
  if (watched == nullptr) {
    watched = new WatchedSocket;
    slot.store(watched, std::memory_order_release);
  }
  watched->cookie = CookieOf(descriptor);
  watched->tls = tls;
  watched->connection.Begin(descriptor, limits, books);
  return watched;
}

// Shows the watch what was read. Returns true if the connection may continue.
bool ShowRead(int descriptor, const msghdr& message, size_t length) {
  WatchedSocket* const watched = Watched(descriptor);
  if (watched == nullptr || watched->tls) return true;
  for (size_t i = 0; i < message.msg_iovlen && length > 0; ++i) {
    const iovec& part = message.msg_iov[i];
    const size_t size = std::min(part.iov_len, length);
    length -= size;
    if (watched->connection.Show({static_cast<const char*>(part.iov_base), size})) continue;
    if (watched->cookie == CookieOf(descriptor)) return false;
    // The descriptor now belongs to an unwatched socket.
    watched->connection.End();
    return true;
  }
  return true;
}

// Notes the end of a connection from the result of a read or write. Preserves `errno`.
void ShowResult(int descriptor, ssize_t length, bool read) {
  if (length > 0 || (length == 0 && !read)) return;
  const int error = errno;
  if (length < 0 && (error == EAGAIN || error == EINTR)) return;
  WatchedSocket* const watched = Watched(descriptor);
  if (watched != nullptr && watched->cookie == CookieOf(descriptor)) watched->connection.Over();
  errno = error;
}

// Notes the end of a read. Preserves `errno`.
void ShowReadEnded(int descriptor) {
  const int error = errno;
  WatchedSocket* const watched = Watched(descriptor);
  if (watched != nullptr) watched->connection.HasRead();
  errno = error;
}

// How many bytes of the socket may be read now; unset = it may not be read any more.
std::optional<size_t> MayRead(int descriptor) {
  WatchedSocket* const watched = Watched(descriptor);
  const std::optional<size_t> most = watched == nullptr ? kAny : watched->connection.MayRead();
  if (most == kAny || watched->cookie == CookieOf(descriptor)) return most;
  // The descriptor now belongs to another socket.
  watched->connection.End();
  return kAny;
}

// Reads at most `most` bytes.
ssize_t Receive(int descriptor, msghdr* message, int flags, size_t most) {
  static auto* const kNext = Next<ssize_t(int, msghdr*, int)>("recvmsg");
  std::array<iovec, 4> parts{};
  if (most == kAny || message->msg_iovlen > parts.size()) {
    return kNext(descriptor, message, flags);
  }
  size_t count = 0;
  for (; count < message->msg_iovlen && most > 0; ++count) {
    parts[count] = message->msg_iov[count];
    parts[count].iov_len = std::min(parts[count].iov_len, most);
    most -= parts[count].iov_len;
  }
  iovec* const all = std::exchange(message->msg_iov, parts.data());
  const size_t all_count = std::exchange(message->msg_iovlen, count);
  const ssize_t length = kNext(descriptor, message, flags);
  message->msg_iov = all;
  message->msg_iovlen = all_count;
  return length;
}

ssize_t Send(int descriptor, const msghdr* message, int flags) {
  static auto* const kNext = Next<ssize_t(int, const msghdr*, int)>("sendmsg");
  WatchedSocket* const watched = Watched(descriptor);
  if (watched == nullptr) return kNext(descriptor, message, flags);
  const bool plain = !watched->tls;
  size_t all = 0;
  for (size_t i = 0; i < message->msg_iovlen; ++i) {
    const iovec& part = message->msg_iov[i];
    if (plain) {
      watched->connection.Sending({static_cast<const char*>(part.iov_base), part.iov_len});
    }
    all += part.iov_len;
  }
  const ssize_t length = kNext(descriptor, message, flags);
  ShowResult(descriptor, length, /*read=*/false);
  const size_t left = all - static_cast<size_t>(std::max<ssize_t>(length, 0));
  if (plain) watched->connection.NotSent(left);
  if (left == 0 && message->msg_iovlen < kMostPieces) watched->connection.AllLeft();
  return length;
}

// --- TLS

// The connection for which gRPC is creating a TLS session on this thread.
struct Greeted {
  WatchedSocket* socket = nullptr;
  uint64_t cookie = 0;
};
thread_local const Greeted* greeted = nullptr;

void FreeGreeted(void*, void* tie, CRYPTO_EX_DATA*, int, long,
                 void*) {  // NOLINT: OpenSSL's type
  delete static_cast<Greeted*>(tie);
}

int TlsIndex() {
  static const int kIndex = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, &FreeGreeted);
  return kIndex;
}

// gRPC negotiates HTTP/2 by one of two names, "grpc-exp" and "h2". The HTTP port negotiates no
// protocol or "http/1.1".
bool SpeaksHttp2(const SSL* tls) {
  const unsigned char* protocol = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(tls, &protocol, &length);
  const std::string_view name(reinterpret_cast<const char*>(protocol), length);
  return !name.empty() && name != "http/1.1";
}

void WatchGreeted(SSL* tls) {
  if (tls == nullptr || greeted == nullptr) return;
  auto its = std::make_unique<Greeted>(*greeted);
  CHECK(SSL_set_ex_data(tls, TlsIndex(), its.release()) == 1, "no memory");
}

// nullptr = the connection is not watched, or not any more.
Connection* Watched(SSL* tls) {
  const auto* const its = static_cast<Greeted*>(SSL_get_ex_data(tls, TlsIndex()));
  if (its == nullptr || its->cookie != its->socket->cookie || !SpeaksHttp2(tls)) return nullptr;
  return &its->socket->connection;
}

}  // namespace

bool WatchSocket(int descriptor, const FrameLimits& limits, const WireBooks& books) {
  return Watch(descriptor, /*tls=*/false, limits, books) != nullptr;
}

void ForgetSocket(int descriptor) {
  if (WatchedSocket* const watched = Watched(descriptor)) watched->connection.End();
}

bool WatchTls(int descriptor, const FrameLimits& limits, const WireBooks& books,
              const std::function<void()>& hand_over) {
  WatchedSocket* const socket = Watch(descriptor, /*tls=*/true, limits, books);
  if (socket == nullptr) return false;
  const Greeted now = {.socket = socket, .cookie = socket->cookie};
  greeted = &now;
  hand_over();
  greeted = nullptr;
  return true;
}

void WakeSocket(int descriptor) {
  // Setting this option makes the kernel wake the threads that wait for the socket.
  const int one = 1;
  (void)setsockopt(descriptor, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
}

uint64_t ConnectionsCut() { return cut; }

}  // namespace freshet

// --- What gRPC calls

extern "C" {

__attribute__((visibility("default"), used)) SSL* SSL_new(SSL_CTX* context) {
  static auto* const kNext = freshet::Next<SSL*(SSL_CTX*)>("SSL_new");
  SSL* const tls = kNext(context);
  freshet::WatchGreeted(tls);
  return tls;
}

__attribute__((visibility("default"), used)) ssize_t recvmsg(int descriptor, msghdr* message,
                                                             int flags) {
  // A peek consumes no bytes of the connection.
  if ((flags & (MSG_PEEK | MSG_ERRQUEUE)) != 0) {
    return freshet::Receive(descriptor, message, flags, freshet::kAny);
  }
  const std::optional<size_t> most = freshet::MayRead(descriptor);
  if (!most || *most == 0) {
    errno = most ? EAGAIN : ECONNRESET;
    return -1;
  }
  const ssize_t length = freshet::Receive(descriptor, message, flags, *most);
  freshet::ShowResult(descriptor, length, /*read=*/true);
  freshet::ShowReadEnded(descriptor);
  if (length <= 0) return length;
  if (freshet::ShowRead(descriptor, *message, static_cast<size_t>(length))) return length;
  errno = ECONNRESET;
  return -1;
}

__attribute__((visibility("default"), used)) ssize_t sendmsg(int descriptor, const msghdr* message,
                                                             int flags) {
  return freshet::Send(descriptor, message, flags);
}

__attribute__((visibility("default"), used)) int SSL_write(SSL* tls, const void* buffer, int size) {
  static auto* const kNext = freshet::Next<int(SSL*, const void*, int)>("SSL_write");
  freshet::Connection* const connection = freshet::Watched(tls);
  if (connection == nullptr || size <= 0) return kNext(tls, buffer, size);
  const auto all = static_cast<size_t>(size);
  connection->Sending({static_cast<const char*>(buffer), all});
  const int length = kNext(tls, buffer, size);
  connection->NotSent(all - static_cast<size_t>(std::max(length, 0)));
  return length;
}

__attribute__((visibility("default"), used)) int SSL_read(SSL* tls, void* buffer, int size) {
  static auto* const kNext = freshet::Next<int(SSL*, void*, int)>("SSL_read");
  const int length = kNext(tls, buffer, size);
  if (length <= 0) return length;
  freshet::Connection* const connection = freshet::Watched(tls);
  if (connection == nullptr) return length;
  const auto bytes = static_cast<size_t>(length);
  if (connection->Show({static_cast<const char*>(buffer), bytes})) return length;
  // gRPC treats this error as the end of the connection.
  ERR_raise(ERR_LIB_USER, ERR_R_OPERATION_FAIL);
  return -1;
}

}  // extern "C"

namespace freshet {

bool ReadsAreWatched() {
  return dlsym(RTLD_DEFAULT, "recvmsg") == reinterpret_cast<void*>(&recvmsg) &&
         dlsym(RTLD_DEFAULT, "sendmsg") == reinterpret_cast<void*>(&sendmsg) &&
         dlsym(RTLD_DEFAULT, "SSL_new") == reinterpret_cast<void*>(&SSL_new) &&
         dlsym(RTLD_DEFAULT, "SSL_read") == reinterpret_cast<void*>(&SSL_read) &&
         dlsym(RTLD_DEFAULT, "SSL_write") == reinterpret_cast<void*>(&SSL_write);
}

}  // namespace freshet
