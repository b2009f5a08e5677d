// A TCP connection without a protocol, for clients that violate the protocol.
#ifndef FRESHET_TESTS_SUPPORT_RAW_SOCKET_H_
#define FRESHET_TESTS_SUPPORT_RAW_SOCKET_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace freshet {

// A raw connection. Thread-compatible.
class RawSocket {
 public:
  // Connects to 127.0.0.1, from the local address `from` (127.x.x.x) if set. `receives`: size of
  // the receive buffer in bytes; 0 = chosen by the system.
  explicit RawSocket(int port, const char* from = nullptr, int receives = 0)
      : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receives > 0) {
      (void)setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &receives, sizeof(receives));
    }
    if (from != nullptr) {
      sockaddr_in own{};
      own.sin_family = AF_INET;
      (void)inet_pton(AF_INET, from, &own.sin_addr);
      if (bind(descriptor_, reinterpret_cast<sockaddr*>(&own), sizeof(own)) != 0) return;
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  // Connects to 127.0.0.1, at the port of `address`, which is "host:port".
  explicit RawSocket(const std::string& address, const char* from = nullptr, int receives = 0)
      : RawSocket(std::stoi(address.substr(address.rfind(':') + 1)), from, receives) {}
  RawSocket(RawSocket&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), connected_(other.connected_) {}
  ~RawSocket() { Close(); }

  [[nodiscard]] bool connected() const { return connected_; }
  // The descriptor, which this object still owns.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  void Close() {
    if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  }
  bool Send(const std::string& bytes) const {
    return send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  // Reads until the other side closes, the bytes contain `until`, or nothing comes for a minute.
  // Sets `closed` in the first case.
  std::string Read(bool* closed, const std::string& until = {}) const {
    std::string all;
    *closed = false;
    while (until.empty() || all.find(until) == std::string::npos) {
      pollfd ready{.fd = descriptor_, .events = POLLIN, .revents = 0};
      if (poll(&ready, 1, 60'000) != 1) break;
      char buffer[4096];
      const ssize_t n = recv(descriptor_, buffer, sizeof(buffer), 0);
      *closed = n <= 0;
      if (n <= 0) break;
      all.append(buffer, static_cast<size_t>(n));
    }
    return all;
  }
  // The first bytes of an HTTP/2 client: the preface and empty settings.
  static std::string Http2Preface() {
    return std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string("\0\0\0\x04\0\0\0\0\0", 9);
  }

 private:
  int descriptor_;
  bool connected_ = false;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_RAW_SOCKET_H_
