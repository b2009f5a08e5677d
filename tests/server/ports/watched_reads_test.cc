#include "server/ports/watched_reads.h"

#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "server/auth/tls_files.h"
#include "server/base/client_network.h"
#include "tests/hostile/http2.h"
#include "tests/support/raw_socket.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_certificates.h"

namespace freshet {
namespace {

using hostile::Http2Call;
using hostile::Http2Frame;

constexpr uint64_t kOpenedCalls = 100;
// One network's share of 64 places.
constexpr uint64_t kShare = 24 * WireShares::kCallsPerPlace;

std::string Opened() {
  std::string bytes = hostile::kHttp2Preface + Http2Frame(4, 0, 0, "");
  for (uint64_t i = 0; i < kOpenedCalls; ++i) bytes += Http2Call(2 * i + 1, "/a.B/C");
  return bytes;
}

std::vector<std::string> Answers() {
  std::vector<std::string> answers = {Http2Frame(4, 0, 0, "")};
  for (uint64_t i = 0; i < kOpenedCalls; ++i)
    answers.push_back(Http2Frame(1, 5, 2 * i + 1, "trailers"));
  return answers;
}

// Tests a connection. The test itself acts as the server.
class WatchedReadsTest : public testing::Test {
 protected:
  WatchedReadsTest() {
    shares_->SetMost({.calls = 64 * WireShares::kCallsPerPlace, .bytes = 1 << 30});
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    client_ = std::make_unique<RawSocket>(ntohs(address.sin_port));
    own_ = accept(listener_, nullptr, nullptr);
    EXPECT_GE(own_, 0);
  }
  ~WatchedReadsTest() override {
    ForgetSocket(own_);
    close(own_);
    close(listener_);
  }

  // Returns how many calls the connection is charged for. The account counts in steps
  // (WireAccount), so this can be off by one step.
  [[nodiscard]] uint64_t held() const {
    const IpAddress network = NetworkOfSocket(own_);
    uint64_t free = kShare;
    while (free > 0 && !shares_->Change(network, {}, {.calls = free}).empty()) --free;
    if (free > 0) {
      EXPECT_EQ(shares_->Change(network, {.calls = free}, {}), "");
    }
    return kShare - free;
  }
  [[nodiscard]] std::string Receive() const {
    std::string bytes(1 << 20, '\0');
    iovec part = {.iov_base = bytes.data(), .iov_len = bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const ssize_t size = recvmsg(own_, &message, 0);
    bytes.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
    return bytes;
  }
  void Send(const std::vector<std::string>& pieces) const {
    std::vector<iovec> parts;
    size_t all = 0;
    for (const std::string& piece : pieces) {
      parts.push_back({.iov_base = const_cast<char*>(piece.data()), .iov_len = piece.size()});
      all += piece.size();
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    EXPECT_EQ(sendmsg(own_, &message, MSG_NOSIGNAL), static_cast<ssize_t>(all));
  }

  const FrameLimits limits_ = FrameLimitsFor(8192, 1000);
  const std::shared_ptr<WireShares> shares_ = std::make_shared<WireShares>();
  const std::shared_ptr<WireTurns> turns_ = std::make_shared<WireTurns>(WakeSocket);
  const WireBooks books_ = {.shares = shares_, .turns = turns_};
  std::unique_ptr<RawSocket> client_;
  int own_ = -1;

 private:
  int listener_ = -1;
};

// gRPC passes a long write to the system in parts of 260 pieces, and keeps the calls of the write
// until the last part has left.
TEST_F(WatchedReadsTest, CallsAreHeldUntilTheWholeWriteHasLeft) {
  ASSERT_TRUE(WatchSocket(own_, limits_, books_));
  const std::string opened = Opened();
  EXPECT_TRUE(client_->Send(opened));
  for (size_t got = 0; got < opened.size();) got += Receive().size();
  EXPECT_GE(held(), kOpenedCalls - WireAccount::kFree.calls);
  std::vector<std::string> pieces = Answers();
  const std::string last = pieces.back();
  pieces.pop_back();
  while (pieces.size() < 260) pieces.push_back(Http2Frame(8, 0, 0, "more"));
  Send(pieces);
  EXPECT_GE(held(), kOpenedCalls - WireAccount::kFree.calls);
  Send({last});
  EXPECT_EQ(held(), 0U);
}

// If gRPC has many calls that the server does not know of yet, the connection of their client is
// not read until the server knows of some of them. Other clients are read as before.
TEST_F(WatchedReadsTest, AreHeldBackUntilCallsAreTakenUp) {
  ASSERT_TRUE(WatchSocket(own_, limits_, books_));
  const IpAddress network = NetworkOfSocket(own_);
  std::vector<IpAddress> others;
  for (const char* peer : {"ipv4:192.0.2.1:1", "ipv4:192.0.2.2:1", "ipv4:192.0.2.3:1"}) {
    others.push_back(NetworkOfPeer(peer));
  }
  EXPECT_TRUE(client_->Send(Opened()));
  EXPECT_GT(Receive().size(), WireTurns::kPiece) << "there are few";
  while (turns_->unheard() < WireTurns::kFew / 3) (void)Receive();
  const uint64_t opened = turns_->unheard();
  constexpr WireCalls kMany = {.opened = WireTurns::kFew, .open = WireTurns::kFew};
  for (const IpAddress& other : others) turns_->Count(other, {}, kMany);
  std::vector<uint64_t> made(opened + others.size() * WireTurns::kFew);
  for (uint64_t& age : made) age = turns_->Made();
  EXPECT_TRUE(client_->Send(std::string(1000, '\0')));
  EXPECT_EQ(Receive(), "");
  EXPECT_EQ(errno, EAGAIN);
  pollfd ready = {.fd = own_, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&ready, 1, 0), 1);
  for (uint64_t i = 0; i < opened; ++i) turns_->Heard(network, made[i]);
  EXPECT_EQ(Receive().size(), WireTurns::kPiece);
  for (const IpAddress& other : others) {
    for (uint64_t i = 0; i < WireTurns::kFew; ++i) turns_->Heard(other, made[opened]);
  }
  EXPECT_GT(Receive().size(), WireTurns::kPiece);
}

// gRPC reads a connection until no more bytes come. Meanwhile, the thread that reads it looks at no
// other connection.
TEST_F(WatchedReadsTest, AreInterruptedSoThatOtherConnectionsAreRead) {
  ASSERT_TRUE(WatchSocket(own_, limits_, books_));
  const std::string opened = Opened();
  EXPECT_TRUE(client_->Send(opened));
  size_t got = 0;
  int runs = 0;
  while (got < opened.size()) {
    const std::string bytes = Receive();
    got += bytes.size();
    if (!bytes.empty()) continue;
    EXPECT_EQ(errno, EAGAIN);
    ++runs;
    EXPECT_LE(turns_->unheard(), 20U * static_cast<uint64_t>(runs)) << "a run has few calls";
    pollfd ready = {.fd = own_, .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&ready, 1, 0), 1) << "it is read again later";
  }
  EXPECT_GE(runs, 5);
  EXPECT_EQ(turns_->unheard(), kOpenedCalls);
}

// A call counts as abandoned if its client has cancelled it or its connection is closed. gRPC keeps
// the socket as long as the server has one of its calls.
TEST_F(WatchedReadsTest, CallsOfClosedConnectionsAreLeftBehind) {
  ASSERT_TRUE(WatchSocket(own_, limits_, books_));
  const IpAddress network = NetworkOfSocket(own_);
  const std::string opened = Opened() + hostile::Http2Cancel(1);
  EXPECT_TRUE(client_->Send(opened));
  for (size_t got = 0; got < opened.size();) got += Receive().size();
  EXPECT_EQ(turns_->unheard(), kOpenedCalls);
  EXPECT_EQ(turns_->left_behind(), 1U);
  // One call is answered.
  Send({Http2Frame(4, 0, 0, ""), Http2Frame(1, 5, 3, "trailers")});
  EXPECT_EQ(turns_->left_behind(), 2U);
  client_ = nullptr;
  EXPECT_EQ(Receive(), "");
  EXPECT_EQ(turns_->left_behind(), kOpenedCalls);
  ForgetSocket(own_);
  EXPECT_EQ(turns_->left_behind(), kOpenedCalls);
  for (uint64_t i = 0; i < kOpenedCalls; ++i) turns_->Heard(network, turns_->Made());
  EXPECT_EQ(turns_->unheard(), 0U);
  for (uint64_t i = 0; i < kOpenedCalls; ++i) turns_->Ended(network);
  EXPECT_EQ(turns_->left_behind(), 0U);
}

// If a stopping server continued to read, it would first answer all calls that clients have sent.
TEST_F(WatchedReadsTest, NothingIsReadOnceTheServerEnds) {
  ASSERT_TRUE(WatchSocket(own_, limits_, books_));
  EXPECT_TRUE(client_->Send(Opened()));
  turns_->End();
  EXPECT_EQ(Receive(), "");
  EXPECT_EQ(errno, ECONNRESET);
}

// Answers can be encrypted, but not sent yet. If the client reads nothing, its calls stay held
// until the encrypted bytes have left.
TEST_F(WatchedReadsTest, CallsAreHeldUntilWhatWasEncryptedHasLeft) {
  const TempDir dir;
  const TestAuthority authority;
  const KeyPair pair = authority.Issue({.names = "DNS:a.test"});
  ReplaceFile(dir / "certificate", pair.certificate);
  ReplaceFile(dir / "key", pair.key);
  const StatusOr<TlsMaterial> material =
      LoadTls({.certificate = dir / "certificate", .key = dir / "key", .client_ca = ""});
  ASSERT_TRUE(material.ok()) << material.status();
  SSL_CTX_set_alpn_select_cb(
      material->context.get(),
      [](SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in, unsigned,
         void*) {
        *out = in + 1;
        *size = in[0];
        return SSL_TLSEXT_ERR_OK;
      },
      nullptr);
  const std::unique_ptr<SSL_CTX, SslContextFree> context(SSL_CTX_new(TLS_client_method()));
  SSL* server = nullptr;
  ASSERT_TRUE(WatchTls(own_, limits_, books_, [&] { server = SSL_new(material->context.get()); }));
  SSL* const client = SSL_new(context.get());
  const unsigned char protocols[] = {2, 'h', '2'};
  EXPECT_EQ(SSL_set_alpn_protos(client, protocols, sizeof(protocols)), 0);
  // Like gRPC, sends encrypted bytes to the socket in a separate step.
  BIO* in_server = nullptr;
  BIO* outside = nullptr;
  ASSERT_EQ(BIO_new_bio_pair(&in_server, 1 << 20, &outside, 1 << 20), 1);
  SSL_set_bio(server, in_server, in_server);
  SSL_set_fd(client, client_->descriptor());
  SSL_set_accept_state(server);
  SSL_set_connect_state(client);
  const auto send_on = [&] {
    std::string bytes(1 << 20, '\0');
    const int size = BIO_read(outside, bytes.data(), static_cast<int>(bytes.size()));
    if (size > 0) Send({bytes.substr(0, static_cast<size_t>(size))});
  };
  std::string opened = Opened();
  std::thread speaker([&] {
    EXPECT_EQ(SSL_connect(client), 1);
    EXPECT_EQ(SSL_write(client, opened.data(), static_cast<int>(opened.size())),
              static_cast<int>(opened.size()));
  });
  size_t got = 0;
  while (got < opened.size()) {
    const std::string bytes = Receive();
    ASSERT_FALSE(bytes.empty());
    EXPECT_EQ(BIO_write(outside, bytes.data(), static_cast<int>(bytes.size())),
              static_cast<int>(bytes.size()));
    if (SSL_is_init_finished(server) == 0) (void)SSL_do_handshake(server);
    char buffer[65'536];
    for (int size = 0; (size = SSL_read(server, buffer, sizeof(buffer))) > 0;) {
      got += static_cast<size_t>(size);
    }
    send_on();
  }
  speaker.join();
  EXPECT_GE(held(), kOpenedCalls - WireAccount::kFree.calls);
  for (const std::string& answer : Answers()) {
    EXPECT_EQ(SSL_write(server, answer.data(), static_cast<int>(answer.size())),
              static_cast<int>(answer.size()));
  }
  EXPECT_GE(held(), kOpenedCalls - WireAccount::kFree.calls);
  send_on();
  EXPECT_EQ(held(), 0U);
  SSL_free(client);
  SSL_free(server);
  BIO_free(outside);
}

}  // namespace
}  // namespace freshet
