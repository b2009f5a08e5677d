// A server with TLS and identities for tests, and clients that authenticate to it in different
// ways.
#ifndef FRESHET_TESTS_GRPC_GUARDED_SERVER_H_
#define FRESHET_TESTS_GRPC_GUARDED_SERVER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "freshet/v1/auth.grpc.pb.h"
#include "server/auth/identities.h"
#include "tests/grpc/test_server.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_certificates.h"
#include "tools/common/client_channel.h"

namespace freshet {

// The credentials that a client presents. Value type, thread-compatible.
struct Showing {
  std::string token;            // empty = none
  std::optional<KeyPair> pair;  // the client's certificate
  std::string ca;               // PEM of the trusted authority; empty = the server's
};

// A server with TLS and an auth file. Thread-compatible.
class GuardedServer {
 public:
  // For each identity, its name and its lines in the auth file. WriteIdentities() adds the lines
  // for name and credentials: the identity NAME has the token NAME-token and certificates for
  // NAME.test.
  using Written = std::vector<std::pair<std::string, std::string>>;

  // `clock`: the server's clock; nullptr = the machine's.
  explicit GuardedServer(const Written& identities, const TestServer::Tweak& tweak = {},
                         Clock* clock = nullptr) {
    WriteServerPair(authority.Issue({.names = "IP:127.0.0.1,DNS:localhost"}));
    ReplaceFile(dir_ / "ca.pem", authority.certificate());
    if (!identities.empty()) WriteIdentities(identities);
    const TestServer::Tweak guard = [&](ServerConfig* config) {
      config->tls_certificate = dir_ / "server.pem";
      config->tls_key = dir_ / "server.key";
      config->tls_client_ca = dir_ / "ca.pem";
      config->tls_client_certificate_required = false;
      if (!identities.empty()) config->auth_file = dir_ / "auth.yaml";
      config->reload_interval = Duration::Hours(24);
      if (tweak) tweak(config);
    };
    server_ = std::make_unique<TestServer>(guard, nullptr, clock);
  }

  void WriteServerPair(const KeyPair& pair) const {
    ReplaceFile(dir_ / "server.pem", pair.certificate);
    ReplaceFile(dir_ / "server.key", pair.key);
  }
  void WriteIdentities(const Written& identities) const {
    std::string yaml = "identities:\n";
    for (const auto& [name, lines] : identities) {
      yaml += "  - name: " + name + "\n    token_sha256: " + HexOf(DigestOf(name + "-token")) +
              "\n    certificate: " + name + ".test\n" + lines;
    }
    ReplaceFile(dir_ / "auth.yaml", yaml);
  }

  [[nodiscard]] Showing Token(const std::string& name) const { return {.token = name + "-token"}; }
  [[nodiscard]] Showing Certificate(const std::string& name) const {
    return {.pair = authority.Issue({.names = "DNS:" + name + ".test"})};
  }

  // Opens a channel with a separate connection.
  [[nodiscard]] std::shared_ptr<grpc::Channel> Open(const Showing& showing) {
    ClientSecurity security;
    const std::string base = dir_ / ("client" + std::to_string(++clients_));
    security.token = showing.token;
    security.ca = base + ".ca";
    ReplaceFile(security.ca, showing.ca.empty() ? authority.certificate() : showing.ca);
    if (showing.pair) {
      security.certificate = base + ".pem";
      security.key = base + ".key";
      ReplaceFile(security.certificate, showing.pair->certificate);
      ReplaceFile(security.key, showing.pair->key);
    }
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    auto channel = OpenChannel(server_->info.grpc_address, security, arguments);
    EXPECT_TRUE(channel.ok()) << channel.status();
    return *channel;
  }

  [[nodiscard]] TestServer& operator*() { return *server_; }
  [[nodiscard]] TestServer* operator->() { return server_.get(); }
  [[nodiscard]] std::string path(const std::string& name) const { return dir_ / name; }

  const TestAuthority authority;

 private:
  TempDir dir_;
  int clients_ = 0;
  std::unique_ptr<TestServer> server_;
};

inline grpc::StatusCode WhoAmI(const std::shared_ptr<grpc::Channel>& channel,
                               v1::WhoAmIResponse* response) {
  grpc::ClientContext call;
  return v1::AuthService::NewStub(channel)->WhoAmI(&call, {}, response).error_code();
}
inline grpc::StatusCode WhoAmI(const std::shared_ptr<grpc::Channel>& channel) {
  v1::WhoAmIResponse response;
  return WhoAmI(channel, &response);
}

}  // namespace freshet

#endif  // FRESHET_TESTS_GRPC_GUARDED_SERVER_H_
