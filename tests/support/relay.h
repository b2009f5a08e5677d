// A TCP proxy between clients and a server that can be replaced or disappear.
#ifndef FRESHET_TESTS_SUPPORT_RELAY_H_
#define FRESHET_TESTS_SUPPORT_RELAY_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace freshet {

// A proxy that switches between servers. Thread-safe.
class Relay {
 public:
  // `server`: "host:port" of this machine; "" = none, so connections are closed at once.
  explicit Relay(const std::string& server = "") : listener_(Listen()) {
    Switch(server);
    thread_ = std::thread([this] { Run(); });
  }
  ~Relay() {
    stopped_ = true;
    thread_.join();
    for (const Pair& pair : pairs_) Close(pair);
    close(listener_);
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }
  // Sets the server for new connections.
  void Switch(const std::string& server) { server_port_ = server.empty() ? 0 : PortOf(server); }
  // From now on, no bytes pass, but connections stay open.
  void SwallowAll() { swallows_ = true; }

 private:
  struct Pair {
    int client = -1;
    int upstream = -1;
  };

  static int PortOf(const std::string& address) {
    return std::stoi(address.substr(address.rfind(':') + 1));
  }
  static sockaddr_in Loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  static void Close(const Pair& pair) {
    close(pair.client);
    close(pair.upstream);
  }

  int Listen() {
    constexpr int kBacklog = 512;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener, any, size), 0);
    EXPECT_EQ(listen(listener, kBacklog), 0);
    EXPECT_EQ(getsockname(listener, any, &size), 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    return listener;
  }
  void Accept() {
    Pair pair{.client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)};
    if (pair.client < 0) return;
    const sockaddr_in address = Loopback(server_port_);
    pair.upstream = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool reached =
        server_port_ != 0 &&
        connect(pair.upstream, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    reached ? pairs_.push_back(pair) : Close(pair);
  }
  // Passes bytes from one side to the other. Returns false if the connection has ended.
  [[nodiscard]] bool PassOn(int from, int to) const {
    char buffer[65'536];
    const ssize_t n = recv(from, buffer, sizeof(buffer), 0);
    if (n <= 0) return false;
    if (swallows_) return true;
    for (ssize_t sent = 0; sent < n;) {
      const ssize_t more = send(to, buffer + sent, static_cast<size_t>(n - sent), MSG_NOSIGNAL);
      if (more <= 0) return false;
      sent += more;
    }
    return true;
  }
  void Run() {
    while (!stopped_) {
      std::vector<pollfd> ready = {{listener_, POLLIN, 0}};
      for (const Pair& pair : pairs_) {
        ready.push_back({pair.client, POLLIN, 0});
        ready.push_back({pair.upstream, POLLIN, 0});
      }
      if (poll(ready.data(), ready.size(), 20) <= 0) continue;
      std::vector<Pair> open;
      for (size_t i = 0; i < pairs_.size(); ++i) {
        const Pair& pair = pairs_[i];
        const bool ended = (ready[1 + 2 * i].revents != 0 && !PassOn(pair.client, pair.upstream)) ||
                           (ready[2 + 2 * i].revents != 0 && !PassOn(pair.upstream, pair.client));
        ended ? Close(pair) : open.push_back(pair);
      }
      pairs_ = std::move(open);
      if (ready[0].revents != 0) Accept();
    }
  }

  std::string address_;
  const int listener_;
  std::vector<Pair> pairs_;  // proxy thread only
  std::atomic<int> server_port_ = 0;
  std::atomic<bool> swallows_ = false;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_RELAY_H_
