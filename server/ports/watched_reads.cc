#include "server/ports/watched_reads.h"

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>

#include "core/base/check.h"
#include "server/base/log_limit.h"
#include "server/base/system_clock.h"
#include "server/logs/loggers.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

// As many as a process of Linux may have unless the system is told otherwise.
constexpr size_t kMostDescriptors = 1 << 20;

// What tells a socket from others that had or will have its number; 0: it is none.
uint64_t CookieOf(int descriptor) {
  uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  if (getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &size) != 0) return 0;
  return cookie;
}

void TellOf(const FrameWatch& watch) {
  static Mutex mutex;
  static LogLimit complaints;
  const MutexLock lock(mutex);
  SystemClock clock;
  if (const auto more = complaints.Admit(clock.Now())) {
    Logger(LogModule::kPorts).warn("a connection is cut: too many {}{}", watch.excess(), *more);
  }
}

std::atomic<uint64_t> cut{0};

// Shows the watch what has come; whether the connection may go on.
bool Show(std::string_view bytes, FrameWatch* watch) {
  const bool was_cut = !watch->excess().empty();
  if (watch->Take(bytes)) return true;
  if (!was_cut) {
    ++cut;
    TellOf(*watch);
  }
  return false;
}

// --- Plain text

struct WatchedSocket {
  uint64_t cookie = 0;
  FrameWatch watch;
  std::atomic<bool> answered{false};  // something was sent: settings come first
};

// By number. Each is made once, and used again for the next connection that has its number: whoever
// still looks at it reads another socket by then, which only its cookie tells.
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

// Whether the socket may go on after this was read.
bool ShowRead(int descriptor, const msghdr& message, size_t length) {
  WatchedSocket* const watched = Watched(descriptor);
  if (watched == nullptr) return true;
  if (watched->answered.load(std::memory_order_acquire)) watched->watch.SettingsSent();
  for (size_t i = 0; i < message.msg_iovlen && length > 0; ++i) {
    const iovec& part = message.msg_iov[i];
    const size_t size = std::min(part.iov_len, length);
    length -= size;
    if (Show({static_cast<const char*>(part.iov_base), size}, &watched->watch)) continue;
    if (watched->cookie == CookieOf(descriptor)) return false;
    // The number is another socket's by now, of which nobody has asked.
    Sockets()[descriptor].store(nullptr, std::memory_order_release);
    return true;
  }
  return true;
}

// --- TLS

std::atomic<const FrameLimits*> tls_limits{nullptr};

void FreeWatch(void*, void* watch, CRYPTO_EX_DATA*, int, long, void*) {  // NOLINT: OpenSSL's type
  delete static_cast<FrameWatch*>(watch);
}

int TlsIndex() {
  static const int kIndex = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, &FreeWatch);
  return kIndex;
}

// gRPC has two names for it, "grpc-exp" and "h2". The HTTP port agrees on none, or on "http/1.1".
bool SpeaksHttp2(const SSL* tls) {
  const unsigned char* protocol = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(tls, &protocol, &length);
  const std::string_view name(reinterpret_cast<const char*>(protocol), length);
  return !name.empty() && name != "http/1.1";
}

// nullptr: it is not watched.
FrameWatch* Watched(SSL* tls) {
  const FrameLimits* limits = tls_limits.load(std::memory_order_acquire);
  if (limits == nullptr || SSL_is_server(tls) == 0) return nullptr;
  auto* watch = static_cast<FrameWatch*>(SSL_get_ex_data(tls, TlsIndex()));
  if (watch != nullptr || !SpeaksHttp2(tls)) return watch;
  watch = new FrameWatch(*limits);
  CHECK(SSL_set_ex_data(tls, TlsIndex(), watch) == 1, "no memory");
  return watch;
}

template <typename Function>
Function* Next(const char* name) {
  auto* const function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  CHECK(function != nullptr, "there is no {}", name);
  return function;
}

}  // namespace

bool WatchSocket(int descriptor, const FrameLimits& limits) {
  if (descriptor < 0 || static_cast<size_t>(descriptor) >= kMostDescriptors) return false;
  any_socket.store(true, std::memory_order_release);
  std::atomic<WatchedSocket*>& slot = Sockets()[descriptor];
  WatchedSocket* watched = slot.load(std::memory_order_acquire);
  if (watched == nullptr) {
    slot.store(new WatchedSocket{CookieOf(descriptor), FrameWatch(limits)},
               std::memory_order_release);
  } else {
    watched->cookie = CookieOf(descriptor);
    watched->watch = FrameWatch(limits);
    watched->answered.store(false, std::memory_order_release);
  }
  return true;
}

void WatchTls(const FrameLimits& limits) {
  // Connections that are open keep those that they have begun with.
  tls_limits.store(new FrameLimits(limits), std::memory_order_release);
}

uint64_t ConnectionsCut() { return cut; }

}  // namespace freshet

// --- What gRPC calls

extern "C" {

__attribute__((visibility("default"), used)) ssize_t recvmsg(int descriptor, msghdr* message,
                                                             int flags) {
  static auto* const kNext = freshet::Next<ssize_t(int, msghdr*, int)>("recvmsg");
  const ssize_t length = kNext(descriptor, message, flags);
  if (length <= 0 || (flags & MSG_PEEK) != 0) return length;
  if (freshet::ShowRead(descriptor, *message, static_cast<size_t>(length))) return length;
  errno = ECONNRESET;
  return -1;
}

__attribute__((visibility("default"), used)) ssize_t sendmsg(int descriptor, const msghdr* message,
                                                             int flags) {
  static auto* const kNext = freshet::Next<ssize_t(int, const msghdr*, int)>("sendmsg");
  if (freshet::WatchedSocket* const watched = freshet::Watched(descriptor); watched != nullptr) {
    watched->answered.store(true, std::memory_order_release);
  }
  return kNext(descriptor, message, flags);
}

__attribute__((visibility("default"), used)) int SSL_write(SSL* tls, const void* buffer, int size) {
  static auto* const kNext = freshet::Next<int(SSL*, const void*, int)>("SSL_write");
  if (freshet::FrameWatch* const watch = freshet::Watched(tls)) watch->SettingsSent();
  return kNext(tls, buffer, size);
}

__attribute__((visibility("default"), used)) int SSL_read(SSL* tls, void* buffer, int size) {
  static auto* const kNext = freshet::Next<int(SSL*, void*, int)>("SSL_read");
  const int length = kNext(tls, buffer, size);
  if (length <= 0) return length;
  freshet::FrameWatch* const watch = freshet::Watched(tls);
  if (watch == nullptr) return length;
  if (freshet::Show({static_cast<const char*>(buffer), static_cast<size_t>(length)}, watch)) {
    return length;
  }
  // Whoever reads takes it for the end of what can be read.
  ERR_raise(ERR_LIB_USER, ERR_R_OPERATION_FAIL);
  return -1;
}

}  // extern "C"

namespace freshet {

bool ReadsAreWatched() {
  return dlsym(RTLD_DEFAULT, "recvmsg") == reinterpret_cast<void*>(&recvmsg) &&
         dlsym(RTLD_DEFAULT, "sendmsg") == reinterpret_cast<void*>(&sendmsg) &&
         dlsym(RTLD_DEFAULT, "SSL_read") == reinterpret_cast<void*>(&SSL_read) &&
         dlsym(RTLD_DEFAULT, "SSL_write") == reinterpret_cast<void*>(&SSL_write);
}

}  // namespace freshet
