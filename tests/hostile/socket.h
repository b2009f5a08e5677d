// Plain TCP connections, for clients that no library would write.
#ifndef FRESHET_TESTS_HOSTILE_SOCKET_H_
#define FRESHET_TESTS_HOSTILE_SOCKET_H_

#include <openssl/ssl.h>

#include <string>
#include <string_view>
#include <utility>

namespace freshet::hostile {

// Whether servers speak TLS, for the whole process: then half of the connections shake hands before
// they say anything, and the others do not.
void SpeakTls();

// How a connection begins where servers speak TLS.
enum class Opening { kEveryOther, kAsServersWant, kPlain };

// A connection, or none if it was refused or has ended: then nothing is sent or received.
// Thread-compatible, can be moved.
class Socket {
 public:
  // `address` is HOST:PORT with a numeric host of IPv4. Sending and receiving wait `millis` at
  // most.
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
  // Whether all of it was taken.
  bool Send(std::string_view bytes);
  // What there is, up to 64 KiB; empty at the end, on an error, and when nothing came in time.
  std::string Receive();
  // What comes until the other side ends it, or until nothing comes in time.
  std::string ReceiveAll();
  // Tells the other side that nothing more will be sent.
  void HalfClose() const;
  void Close();
  // Ends it as a client does that crashed.
  void Reset();

 private:
  void ShakeHands();

  int fd_ = -1;
  SSL* tls_ = nullptr;  // null: plain text
};

}  // namespace freshet::hostile

#endif  // FRESHET_TESTS_HOSTILE_SOCKET_H_
