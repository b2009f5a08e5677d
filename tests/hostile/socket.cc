#include "tests/hostile/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>

#include "core/base/check.h"

namespace freshet::hostile {

namespace {

// nullptr = servers speak plain text.
std::atomic<SSL_CTX*> tls_context = nullptr;
std::atomic<uint64_t> connections = 0;
std::atomic<uint64_t> handshakes = 0;

}  // namespace

void SpeakTls() {
  // OpenSSL writes to connections that the server has ended.
  std::signal(SIGPIPE, SIG_IGN);
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  tls_context = context;  // until the end of the process
}

void Socket::ShakeHands() {
  tls_ = SSL_new(tls_context);
  // gRPC 1.51 knows its protocol by two names, h2 and grpc-exp. Every other handshake offers the
  // second name, too. The HTTP port ignores both names.
  static constexpr unsigned char kStandard[] = "\x02h2\x08http/1.1";
  static constexpr unsigned char kOfGrpc[] = "\x08grpc-exp\x02h2";
  if (++handshakes % 2 == 0) {
    SSL_set_alpn_protos(tls_, kStandard, sizeof(kStandard) - 1);
  } else {
    SSL_set_alpn_protos(tls_, kOfGrpc, sizeof(kOfGrpc) - 1);
  }
  SSL_set_fd(tls_, fd_);
  if (SSL_connect(tls_) != 1) Close();
}

Socket::Socket(const std::string& address, int millis, Opening opening) {
  const size_t colon = address.rfind(':');
  CHECK(colon != std::string::npos, "{} is no address", address);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::atoi(address.c_str() + colon + 1)));
  CHECK(inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr) == 1, "{}", address);
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return;
  const timeval patience = {millis / 1000, millis % 1000 * 1000};
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) Close();
  if (tls_context == nullptr || !open() || opening == Opening::kPlain) return;
  if (opening == Opening::kAsServersWant || ++connections % 2 == 0) ShakeHands();
}

bool Socket::Send(std::string_view bytes) {
  while (open() && !bytes.empty()) {
    const ssize_t n = tls_ != nullptr
                          ? SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size()))
                          : send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return open();
}

std::string Socket::Receive() {
  if (!open()) return {};
  std::string bytes(65536, '\0');
  const ssize_t n = tls_ != nullptr ? SSL_read(tls_, bytes.data(), static_cast<int>(bytes.size()))
                                    : recv(fd_, bytes.data(), bytes.size(), 0);
  bytes.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return bytes;
}

std::string Socket::ReceiveAll() {
  std::string all;
  for (std::string some; !(some = Receive()).empty();) all += some;
  return all;
}

void Socket::HalfClose() const {
  if (open()) shutdown(fd_, SHUT_WR);
}

void Socket::Close() {
  SSL_free(std::exchange(tls_, nullptr));
  if (open()) close(std::exchange(fd_, -1));
}

void Socket::Reset() {
  if (!open()) return;
  const linger at_once = {1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  Close();
}

}  // namespace freshet::hostile
