// Plain TCP connections, for clients that no library would produce.
#ifndef FRESHET_TESTS_HOSTILE_SOCKET_H_
#define FRESHET_TESTS_HOSTILE_SOCKET_H_

#include <openssl/ssl.h>

#include <string>
#include <string_view>
#include <utility>

namespace freshet::hostile {

// From now on, the servers to which this process connects speak TLS. Every other connection makes a
// handshake; the rest send plain text.
void SpeakTls();

// How a connection to a server that speaks TLS begins.
enum class Opening { kEveryOther, kAsServersWant, kPlain };

// A connection. It is closed if it was refused or has ended. A closed connection sends and receives
// nothing. Thread-compatible, movable.
class Socket {
 public:
  // `address` is HOST:PORT with a numeric IPv4 host. Sending and receiving time out after `millis`.
  Socket(const std::string& address, int millis, Opening opening = Opening::kEveryOther);
  ~Socket() { Close(); }
  Socket(Socket&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), tls_(std::exchange(other.tls_, nullptr)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(tls_, other.tls_);
    return *this;
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  [[nodiscard]] bool open() const { return fd_ >= 0; }
  // Returns true if all bytes were sent.
  bool Send(std::string_view bytes);
  // Returns the next bytes, at most 64 KiB; "" at the end, on errors, and after the timeout.
  std::string Receive();
  // Returns all bytes until the other side ends or the timeout passes.
  std::string ReceiveAll();
  // Ends the sending side of the connection.
  void HalfClose() const;
  void Close();
  // Closes the connection with a reset, as after a crash of the client.
  void Reset();

 private:
  void ShakeHands();

  int fd_ = -1;
  SSL* tls_ = nullptr;  // nullptr = plain text
};

}  // namespace freshet::hostile

#endif  // FRESHET_TESTS_HOSTILE_SOCKET_H_
