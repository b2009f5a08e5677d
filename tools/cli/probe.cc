#include "tools/cli/probe.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string_view>

namespace freshet::cli {
namespace {

constexpr int kPatienceMillis = 500;

// A connection that the destructor closes. Thread-compatible.
class Connection {
 public:
  explicit Connection(const addrinfo& address)
      : socket_(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    if (connect(socket_, address.ai_addr, address.ai_addrlen) == 0) return;
    error_ = errno;
    if (error_ != EINPROGRESS || !Await(POLLOUT)) return;
    socklen_t size = sizeof(error_);
    getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error_, &size);
  }
  ~Connection() {
    if (socket_ >= 0) close(socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] int error() const { return error_; }

  // Whether the server answers a request with the beginning of an HTTP/1 response.
  [[nodiscard]] bool SpeaksHttp() const {
    constexpr std::string_view kRequest = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    constexpr std::string_view kAnswer = "HTTP/1.";
    if (send(socket_, kRequest.data(), kRequest.size(), MSG_NOSIGNAL) < 0 || !Await(POLLIN)) {
      return false;
    }
    std::array<char, kAnswer.size()> answer{};
    const ssize_t read = recv(socket_, answer.data(), answer.size(), 0);
    return read == static_cast<ssize_t>(answer.size()) &&
           std::string_view(answer.data(), answer.size()) == kAnswer;
  }

 private:
  [[nodiscard]] bool Await(short event) const {
    pollfd wait{socket_, event, 0};
    return poll(&wait, 1, kPatienceMillis) > 0;
  }

  const int socket_;
  int error_ = 0;
};

}  // namespace

Probed Probe(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || address.find('/') != std::string::npos) return Probed::kOther;
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found) != 0) {
    return Probed::kOther;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  Probed probed = Probed::kOther;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const Connection connection(*one);
    if (connection.error() == 0) return connection.SpeaksHttp() ? Probed::kHttp : Probed::kOther;
    if (connection.error() == ECONNREFUSED) probed = Probed::kNobody;
  }
  return probed;
}

}  // namespace freshet::cli
