// Tests clients of the HTTP port that make handshakes again and again, or open connection after
// connection. Clients of other networks are answered as usual.
#include <openssl/ssl.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/ports/http_port.h"
#include "tests/support/raw_socket.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_certificates.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

constexpr char kAskProbe[] = "GET /probe HTTP/1.1\r\nHost: localhost\r\n\r\n";
constexpr const char* kHonest = "127.0.0.1";
constexpr const char* kHostile = "127.0.0.2";

HttpOptions WithoutHurry() {
  const Duration hour = Duration::Seconds(3600);
  return {.request_time = hour, .idle_time = hour, .answer_time = hour};
}

// A TLS client whose handshake runs on another thread.
class TlsClient {
 public:
  TlsClient(SSL_CTX* context, int port, const char* from) : socket_(port, from) {
    tls_.reset(SSL_new(context));
    SSL_set_fd(tls_.get(), socket_.descriptor());
    shaken_ = std::async(std::launch::async, [tls = tls_.get()] { return SSL_connect(tls) == 1; });
  }
  // Waits for the end of the handshake. Returns true if it succeeded.
  bool ShakeHands() { return shaken_.get(); }
  [[nodiscard]] bool Shakes() const {
    return shaken_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  }
  std::string Ask() {
    SSL_write(tls_.get(), kAskProbe, sizeof(kAskProbe) - 1);
    std::string answer(4096, '\0');
    const int size = SSL_read(tls_.get(), answer.data(), static_cast<int>(answer.size()));
    answer.resize(static_cast<size_t>(std::max(size, 0)));
    return answer;
  }

 private:
  struct Free {
    void operator()(SSL* tls) const { SSL_free(tls); }
  };
  RawSocket socket_;
  std::unique_ptr<SSL, Free> tls_;
  std::future<bool> shaken_;
};

class HttpHandshakes : public testing::Test {
 protected:
  void SetUp() override {
    // OpenSSL writes to connections that the port has closed.
    (void)signal(SIGPIPE, SIG_IGN);
    const TestAuthority authority;
    const KeyPair pair = authority.Issue({.names = "IP:127.0.0.1"});
    ReplaceFile(dir_ / "server.pem", pair.certificate);
    ReplaceFile(dir_ / "server.key", pair.key);
    StatusOr<TlsMaterial> tls =
        LoadTls({.certificate = dir_ / "server.pem", .key = dir_ / "server.key", .client_ca = ""});
    ASSERT_TRUE(tls.ok()) << tls.status();
    // The server's part of the handshake takes as long as the test wants.
    SSL_CTX_set_client_hello_cb(
        tls->context.get(),
        [](SSL*, int*, void* self) {
          auto& test = *static_cast<HttpHandshakes*>(self);
          ++test.begun_;
          if (test.slow_) test.opened_.wait();
          return SSL_CLIENT_HELLO_SUCCESS;
        },
        this);
    tls_ = std::make_shared<const TlsMaterial>(*std::move(tls));
    client_.reset(SSL_CTX_new(TLS_client_method()));
  }
  void Start(HttpOptions options) {
    port_ = std::make_unique<HttpPort>(
        std::vector<HttpRoute>{
            {.path = "/probe",
             .answer = [](const HttpRequest&) { return TextResponse(200, "well"); }}},
        std::move(options));
    const StatusOr<int> started = port_->Start("127.0.0.1:0");
    ASSERT_TRUE(started.ok()) << started.status();
    number_ = *started;
  }
  void StartTls() {
    HttpOptions options = WithoutHurry();
    options.tls = [this] { return tls_; };
    Start(options);
  }
  [[nodiscard]] std::unique_ptr<TlsClient> Connect(const char* from) const {
    return std::make_unique<TlsClient>(client_.get(), number_, from);
  }
  void AwaitBegun(int handshakes) const {
    WaitUntil([&] { return begun_ >= handshakes; });
  }

  TempDir dir_;
  std::shared_ptr<const TlsMaterial> tls_;
  std::unique_ptr<SSL_CTX, SslContextFree> client_;
  std::atomic<int> begun_{0};
  std::atomic<bool> slow_{false};
  std::promise<void> gate_;
  std::shared_future<void> opened_ = gate_.get_future().share();
  std::unique_ptr<HttpPort> port_;
  int number_ = 0;
};

TEST_F(HttpHandshakes, KeepNoProbeWaiting) {
  StartTls();
  const auto probe = Connect(kHonest);
  ASSERT_TRUE(probe->ShakeHands());
  // The first answer shows that the server has finished the handshake.
  EXPECT_THAT(probe->Ask(), testing::HasSubstr("well"));
  slow_ = true;
  const auto slow = Connect(kHostile);
  AwaitBegun(2);
  EXPECT_THAT(probe->Ask(), testing::HasSubstr("well"));
  EXPECT_TRUE(slow->Shakes());
  gate_.set_value();
  EXPECT_TRUE(slow->ShakeHands());
  EXPECT_THAT(slow->Ask(), testing::HasSubstr("well"));
}

// A client that leaves handshakes unfinished delays only itself.
TEST_F(HttpHandshakes, OfOneClientAreFewAtATime) {
  StartTls();
  std::vector<std::unique_ptr<RawSocket>> silent;
  for (int i = 0; i < 50; ++i) {
    silent.push_back(std::make_unique<RawSocket>(number_, kHostile));
    ASSERT_TRUE(silent.back()->connected());
  }
  const auto late = Connect(kHostile);
  for (int i = 0; i < 20; ++i) {
    const auto other = Connect(kHonest);
    ASSERT_TRUE(other->ShakeHands());
    EXPECT_THAT(other->Ask(), testing::HasSubstr("well"));
  }
  EXPECT_TRUE(late->Shakes());
  EXPECT_EQ(begun_, 20);
  // The unfinished handshakes end, so the handshake of the late client can begin.
  silent.clear();
  EXPECT_TRUE(late->ShakeHands());
  EXPECT_THAT(late->Ask(), testing::HasSubstr("well"));
}

TEST_F(HttpHandshakes, EndWithThePort) {
  StartTls();
  std::vector<std::unique_ptr<RawSocket>> silent;
  for (int i = 0; i < 10; ++i) silent.push_back(std::make_unique<RawSocket>(number_, kHostile));
  const auto probe = Connect(kHonest);
  ASSERT_TRUE(probe->ShakeHands());
  slow_ = true;
  const auto slow = Connect(kHonest);
  AwaitBegun(2);
  gate_.set_value();
  port_->Stop();
  (void)slow->ShakeHands();
}

size_t OpenDescriptors() {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                                           std::filesystem::directory_iterator()));
}

// A connection that is closed during its handshake keeps its descriptor until the handshake ends.
TEST_F(HttpHandshakes, OfClosedConnectionsKeepFewDescriptors) {
  constexpr size_t kMost = 8;
  HttpOptions options = WithoutHurry();
  options.tls = [this] { return tls_; };
  options.max_connections = kMost;
  slow_ = true;
  Start(std::move(options));
  const size_t before = OpenDescriptors();
  // The first client blocks the thread that does handshakes. The others, four from each network,
  // wait behind the first client and evict each other.
  std::vector<std::unique_ptr<TlsClient>> clients;
  for (int network = 2; network < 20; ++network) {
    for (int i = 0; i < 4; ++i) {
      clients.push_back(Connect(("127.0.0." + std::to_string(network)).c_str()));
    }
  }
  AwaitBegun(1);
  WaitUntil([&] { return port_->stats().taken >= clients.size(); });
  const size_t of_port = OpenDescriptors() - before - clients.size();
  EXPECT_LE(of_port, kMost + kMost / 4 + 2);
  EXPECT_GE(port_->stats().evicted, clients.size() - kMost - 1);
  gate_.set_value();
  // The port does not wait for closed clients, and accepts new connections.
  for (const auto& client : clients) (void)client->ShakeHands();
  clients.clear();
  const auto late = Connect(kHonest);
  EXPECT_TRUE(late->ShakeHands());
  EXPECT_THAT(late->Ask(), testing::HasSubstr("well"));
}

TEST_F(HttpHandshakes, ManyNetworksDoNotEndEachOthersYoungConnections) {
  HttpOptions options = WithoutHurry();
  options.max_connections = 2;
  Start(options);
  const RawSocket first(number_, "127.0.0.2");
  const RawSocket second(number_, "127.0.0.3");
  WaitUntil([&] { return port_->stats().taken >= 2; });
  const RawSocket third(number_, "127.0.0.4");
  bool closed = false;
  EXPECT_EQ(third.Read(&closed), "");
  EXPECT_TRUE(closed);
  for (const RawSocket* one : {&first, &second}) {
    ASSERT_TRUE(one->Send(kAskProbe));
    EXPECT_THAT(one->Read(&closed, "well"), testing::HasSubstr("well"));
  }
  // A connection that is older than a second can be replaced.
  LetPass(Duration::Millis(1100));
  const RawSocket fourth(number_, "127.0.0.5");
  ASSERT_TRUE(fourth.Send(kAskProbe));
  EXPECT_THAT(fourth.Read(&closed, "well"), testing::HasSubstr("well"));
}

// At the limit the client with the most connections loses one.
TEST_F(HttpHandshakes, AFloodOfConnectionsTakesNoPlaceOfOthers) {
  HttpOptions options = WithoutHurry();
  options.max_connections = 8;
  Start(options);
  const RawSocket honest(number_, kHonest);
  bool closed = false;
  ASSERT_TRUE(honest.Send(kAskProbe));
  EXPECT_THAT(honest.Read(&closed, "well"), testing::HasSubstr("well"));
  std::vector<std::unique_ptr<RawSocket>> flood;
  for (int i = 0; i < 60; ++i) {
    flood.push_back(std::make_unique<RawSocket>(number_, kHostile));
    // The answer shows that the port has taken the connection.
    ASSERT_TRUE(flood.back()->Send(kAskProbe));
    EXPECT_THAT(flood.back()->Read(&closed, "well"), testing::HasSubstr("well"));
  }
  ASSERT_TRUE(honest.Send(kAskProbe));
  EXPECT_THAT(honest.Read(&closed, "well"), testing::HasSubstr("well"));
  EXPECT_FALSE(closed);
}

}  // namespace
}  // namespace freshet
