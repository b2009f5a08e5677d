// A TCP client that sends and reads raw bytes, to test ports with clients that misbehave.
#ifndef FRESHET_TESTS_SUPPORT_RAW_CLIENT_H_
#define FRESHET_TESTS_SUPPORT_RAW_CLIENT_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "gtest/gtest.h"

namespace freshet {

// A connection to a port of this machine. A read waits for at most a minute. Owner thread only.
class RawClient {
 public:
  // Makes a socket that is not connected. Connect() must be called before any other function.
  RawClient() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  explicit RawClient(int port) : RawClient() { Connect(port); }
  RawClient(int port, std::string_view bytes) : RawClient(port) { Send(bytes); }
  // Connects from the local address `from`, and sends `bytes`.
  RawClient(int port, std::string_view bytes, const char* from) : RawClient() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    EXPECT_EQ(inet_pton(AF_INET, from, &address.sin_addr), 1);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    Connect(port);
    Send(bytes);
  }
  ~RawClient() {
    if (socket_ >= 0) close(socket_);
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  RawClient(RawClient&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), read_(std::move(other.read_)) {}
  RawClient& operator=(RawClient&&) = delete;

  void Connect(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  // Sends all bytes, and blocks while the peer does not read them. Returns false if the connection
  // fails.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  void EndSending() { shutdown(socket_, SHUT_WR); }

  // The answer to a GET or POST. The head is "" if the connection ended before the head was
  // complete.
  struct Answer {
    std::string head;
    std::string body;
    [[nodiscard]] int status() const {
      return head.size() > 12 ? std::atoi(head.substr(9, 3).c_str()) : 0;
    }
  };
  // `head_only`: the answer has no body, as for HEAD.
  Answer ReadAnswer(bool head_only = false) {
    Answer answer;
    size_t end = 0;
    while ((end = read_.find("\r\n\r\n")) == std::string::npos) {
      if (!ReadMore()) return answer;
    }
    answer.head = read_.substr(0, end + 4);
    read_.erase(0, end + 4);
    const size_t field = answer.head.find("Content-Length: ");
    if (field == std::string::npos || head_only) return answer;
    const auto length = std::stoul(answer.head.substr(field + 16));
    while (read_.size() < length) {
      if (!ReadMore()) break;
    }
    answer.body = read_.substr(0, length);
    read_.erase(0, length);
    return answer;
  }
  // Reads everything up to the end of the connection.
  std::string ReadAll() {
    while (ReadMore()) {
    }
    return std::exchange(read_, {});
  }
  // Returns true if bytes or the end can be read within `milliseconds`.
  [[nodiscard]] bool Readable(int milliseconds) const { return Polled(POLLIN, milliseconds); }
  // Returns true if the peer resets the connection within `milliseconds`, even with unread bytes.
  [[nodiscard]] bool Reset(int milliseconds) const { return Polled(0, milliseconds); }
  // Returns true if the connection ends within a minute. Drops its remaining bytes.
  bool Ended() {
    while (ReadMore()) {
    }
    return ended_;
  }

 private:
  [[nodiscard]] bool Polled(int events, int milliseconds) const {
    pollfd state{.fd = socket_, .events = static_cast<int16_t>(events), .revents = 0};
    return poll(&state, 1, milliseconds) > 0;
  }
  bool ReadMore() {
    if (ended_ || !Readable(60'000)) return false;
    std::array<char, 65536> chunk{};
    const ssize_t size = recv(socket_, chunk.data(), chunk.size(), 0);
    ended_ = size <= 0;
    if (!ended_) read_.append(chunk.data(), static_cast<size_t>(size));
    return !ended_;
  }

  int socket_;
  std::string read_;
  bool ended_ = false;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_RAW_CLIENT_H_
