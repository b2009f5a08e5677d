#include "server/indexnow/key_request.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "httplib.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_certificates.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

// Answers one request with `head`, and then sends `more` until the client stops reading.
class EndlessHost {
 public:
  EndlessHost(std::string head, std::string more)
      : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port = ntohs(address.sin_port);
    thread_ =
        std::thread([this, head = std::move(head), more = std::move(more)] { Serve(head, more); });
  }
  ~EndlessHost() {
    thread_.join();
    close(listener_);
  }
  EndlessHost(const EndlessHost&) = delete;
  EndlessHost& operator=(const EndlessHost&) = delete;

  static constexpr size_t kMost = 64 << 20;
  uint16_t port = 0;
  std::atomic<size_t> taken{0};  // bytes taken by the client and the system's buffers

 private:
  void Serve(const std::string& head, const std::string& more) {
    const int client = accept(listener_, nullptr, nullptr);
    char request[4096];
    (void)recv(client, request, sizeof(request), 0);
    (void)send(client, head.data(), head.size(), MSG_NOSIGNAL);
    while (!more.empty() && taken < kMost) {
      const ssize_t sent = send(client, more.data(), more.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      taken += static_cast<size_t>(sent);
    }
    close(client);
  }

  int listener_;
  std::thread thread_;
};

SmallFile Fetch(uint16_t port, bool https = false, Duration timeout = Duration::Seconds(60)) {
  const std::atomic<bool> cancelled{false};
  return FetchSmallFile({.https = https,
                         .host = "a.test",
                         .path = "/key.txt",
                         .addresses = {"127.0.0.1"},
                         .port = port},
                        timeout, cancelled);
}

// The client stops reading at its limits. The system still takes a few MiB that the client does not
// read.
TEST(KeyRequest, EndlessAnswersEndAtTheirLimits) {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  const std::string filler(1 << 16, 'a');
  std::string fields;
  for (int i = 0; i < 1000; ++i)
    fields += "X" + std::to_string(i) + ": " + std::string(80, 'a') + "\r\n";
  const std::pair<std::string, std::string> hosts[] = {
      {"", filler},                                              // in the first line
      {ok + "X: ", filler},                                      // in one field
      {ok, fields},                                              // in many fields
      {ok + "\r\n", filler},                                     // in the body
      {ok + "Transfer-Encoding: chunked\r\n\r\n1;", filler},     // in an extension of a chunk
      {ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n", fields},  // in fields after the body
      {"HTTP/1.1 404 Not Found\r\n\r\n", filler},                // in the body of another status
  };
  for (const auto& [head, more] : hosts) {
    const EndlessHost host(head, more);
    const SmallFile file = Fetch(host.port);
    EXPECT_TRUE(!file.failure.empty() || file.too_large || file.status == 404) << head;
    EXPECT_EQ(file.body, "") << head;
    EXPECT_LT(host.taken, EndlessHost::kMost / 2) << head;
  }
}

TEST(KeyRequest, TakesBodiesOfAnyFraming) {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  for (const char* rest :
       {"Content-Length: 3\r\n\r\nkey", "\r\nkey",
        "Transfer-Encoding: chunked\r\n\r\n1\r\nk\r\n2;x=y\r\ney\r\n0\r\n\r\n"}) {
    const EndlessHost host(ok + rest, "");
    const SmallFile file = Fetch(host.port);
    EXPECT_EQ(file.failure, "") << rest;
    EXPECT_EQ(file.status, 200);
    EXPECT_EQ(file.body, "key") << rest;
  }
}

TEST(KeyRequest, LargeBodiesAreKnownByWhatTheySay) {
  const EndlessHost host("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", "");
  const SmallFile file = Fetch(host.port);
  EXPECT_TRUE(file.too_large);
  EXPECT_EQ(file.failure, "");
}

TEST(KeyRequest, WhatIsNoTlsIsRefused) {
  const EndlessHost host("HTTP/1.1 200 OK\r\n\r\nkey", "");
  const SmallFile file = Fetch(host.port, true);
  EXPECT_NE(file.failure, "");
  EXPECT_EQ(file.body, "");
}

// OpenSSL's variable sets the authorities that the system trusts.
TEST(KeyRequest, HttpsNeedsACertificateOfTheHost) {
  const TempDir dir;
  const TestAuthority authority;
  const TestAuthority stranger;
  const std::string ca = dir / "ca.pem";
  ReplaceFile(ca, authority.certificate());
  ASSERT_EQ(setenv("SSL_CERT_FILE", ca.c_str(), 1), 0);
  const KeyPair pairs[] = {authority.Issue({.names = "DNS:a.test"}),
                           authority.Issue({.names = "DNS:b.test"}),
                           authority.Issue({.names = "DNS:a.test", .to_days = 0}),
                           stranger.Issue({.names = "DNS:a.test"})};
  std::vector<bool> believed;
  for (const KeyPair& pair : pairs) {
    ReplaceFile(dir / "server.pem", pair.certificate);
    ReplaceFile(dir / "server.key", pair.key);
    httplib::SSLServer server((dir / "server.pem").c_str(), (dir / "server.key").c_str());
    server.Get("/key.txt",
               [](const auto&, auto& answer) { answer.set_content("key", "text/plain"); });
    const int port = server.bind_to_any_port("127.0.0.1");
    std::thread thread([&server] { server.listen_after_bind(); });
    WaitUntil([&] { return server.is_running(); });
    const SmallFile file = Fetch(static_cast<uint16_t>(port), true);
    believed.push_back(file.body == "key" && file.failure.empty());
    server.stop();
    thread.join();
  }
  unsetenv("SSL_CERT_FILE");
  EXPECT_EQ(believed, std::vector<bool>({true, false, false, false}));
}

}  // namespace
}  // namespace freshet
