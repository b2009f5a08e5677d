// Tests TLS on both ports, and files that change while clients are connected.
#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "httplib.h"
#include "tests/grpc/guarded_server.h"
#include "tests/support/raw_socket.h"

namespace freshet {
namespace {

using grpc::StatusCode;
using testing::HasSubstr;

GuardedServer::Written Admins() { return {{"admin", "    roles: [admin]\n"}}; }

// Makes a TLS handshake with a port in one protocol version. Returns true if it succeeded.
bool ShakeHands(const std::string& address, int version) {
  const auto free_context = [](SSL_CTX* context) { SSL_CTX_free(context); };
  const std::unique_ptr<SSL_CTX, decltype(free_context)> context(SSL_CTX_new(TLS_client_method()),
                                                                 free_context);
  // The server must refuse old protocols, not this client.
  SSL_CTX_set_cipher_list(context.get(), "ALL:@SECLEVEL=0");
  SSL_CTX_set_min_proto_version(context.get(), version);
  SSL_CTX_set_max_proto_version(context.get(), version);
  const unsigned char h2[] = "\x02h2";
  SSL_CTX_set_alpn_protos(context.get(), h2, sizeof(h2) - 1);
  RawSocket socket(address);
  const auto free_ssl = [](SSL* ssl) { SSL_free(ssl); };
  const std::unique_ptr<SSL, decltype(free_ssl)> ssl(SSL_new(context.get()), free_ssl);
  SSL_set_fd(ssl.get(), socket.descriptor());
  return SSL_connect(ssl.get()) == 1;
}

TEST(Tls, SpeaksOnlyVersionsThatAreSafe) {
  GuardedServer server(Admins());
  for (const std::string& address : {server->info.grpc_address, server->info.http_address}) {
    EXPECT_FALSE(ShakeHands(address, TLS1_VERSION)) << address;
    EXPECT_FALSE(ShakeHands(address, TLS1_1_VERSION)) << address;
    EXPECT_TRUE(ShakeHands(address, TLS1_2_VERSION)) << address;
    EXPECT_TRUE(ShakeHands(address, TLS1_3_VERSION)) << address;
  }
}

TEST(Tls, ServesAsPlainTextDoes) {
  GuardedServer server(Admins());
  server->Use(server.Open(server.Token("admin")));
  server->UpsertMany(2500);
  EXPECT_EQ(server->Get(TestServer::Url(7)).page().url(), TestServer::Url(7));
  EXPECT_EQ(server->Next(3).assignments_size(), 3);
  httplib::Client http("https://" + server->info.http_address);
  http.set_ca_cert_path(server.path("ca.pem"));
  http.set_bearer_token_auth("admin-token");
  http.set_keep_alive(true);
  for (int i = 0; i < 3; ++i) {
    const httplib::Result metrics = http.Get("/metrics");
    ASSERT_TRUE(metrics) << httplib::to_string(metrics.error());
    EXPECT_THAT(metrics->body, HasSubstr("freshet_tls_not_after_timestamp_seconds{"));
    EXPECT_THAT(metrics->body, HasSubstr("freshet_identities 1\n"));
  }
}

TEST(Tls, ManyRequestsAtOnceGetTheirWholeAnswers) {
  GuardedServer server(Admins());
  std::vector<std::thread> threads;
  std::atomic<int> whole = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      httplib::Client http("https://" + server->info.http_address);
      http.set_ca_cert_path(server.path("ca.pem"));
      http.set_bearer_token_auth("admin-token");
      for (int j = 0; j < 20; ++j) {
        const httplib::Result page = http.Get("/");
        if (page && page->status == 200 && page->body.ends_with("</html>\n")) ++whole;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(whole, 160);
}

// Connections that send garbage or nothing do not keep the server from serving clients.
TEST(Tls, RubbishAndSilenceAreClosed) {
  GuardedServer server(Admins());
  for (const std::string& address : {server->info.grpc_address, server->info.http_address}) {
    for (const std::string& text :
         {std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), std::string("GET / HTTP/1.1\r\n\r\n"),
          std::string("\x16\x03\x01\xff\xffrubbish"), std::string(70'000, '\x16')}) {
      RawSocket socket(address);
      socket.Send(text);
      bool closed = false;
      (void)socket.Read(&closed);
      EXPECT_TRUE(closed) << address;
    }
  }
  std::vector<RawSocket> silent;
  for (int i = 0; i < 50; ++i) {
    silent.emplace_back(server->info.http_address);
    silent.emplace_back(server->info.grpc_address);
  }
  EXPECT_EQ(WhoAmI(server.Open(server.Token("admin"))), StatusCode::OK);
}

// An operator renews the certificate, even from another authority. Open streams continue, and new
// connections get the new certificate.
TEST(Tls, NewCertificatesDropNoStream) {
  GuardedServer server(Admins());
  const auto old_channel = server.Open(server.Token("admin"));
  server->Use(old_channel);
  server->UpsertMany(10);
  grpc::ClientContext call;
  const auto stream = server->ingest->SignalChanges(&call);
  v1::SignalChangesRequest request;
  request.add_signals()->set_url(TestServer::Url(1));
  request.mutable_signals(0)->set_source("sitemap");
  v1::SignalChangesResponse response;
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));

  const TestAuthority renewed("renewed");
  server.WriteServerPair(renewed.Issue({.names = "IP:127.0.0.1"}));
  server->Reload();
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  Showing believes_new = server.Token("admin");
  believes_new.ca = renewed.certificate();
  EXPECT_EQ(WhoAmI(server.Open(believes_new)), StatusCode::OK);
  EXPECT_EQ(WhoAmI(server.Open(server.Token("admin"))), StatusCode::UNAVAILABLE);
  httplib::Client http("https://" + server->info.http_address);
  ReplaceFile(server.path("renewed.pem"), renewed.certificate());
  http.set_ca_cert_path(server.path("renewed.pem"));
  EXPECT_TRUE(http.Get("/healthz"));

  // A broken pair changes nothing.
  server.WriteServerPair({.certificate = "broken", .key = "broken"});
  server->Reload();
  EXPECT_EQ(WhoAmI(server.Open(believes_new)), StatusCode::OK);
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

// Without a client CA the server ignores certificates of clients.
TEST(Tls, ServesWithoutAClientCa) {
  GuardedServer server(Admins(), [](ServerConfig* config) { config->tls_client_ca.clear(); });
  EXPECT_EQ(WhoAmI(server.Open(server.Token("admin"))), StatusCode::OK);
  EXPECT_EQ(WhoAmI(server.Open({})), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(WhoAmI(server.Open(server.Certificate("admin"))), StatusCode::UNAUTHENTICATED);
  server.WriteServerPair(server.authority.Issue({.names = "IP:127.0.0.1"}));
  server->Reload();
  EXPECT_EQ(WhoAmI(server.Open(server.Token("admin"))), StatusCode::OK);
}

// A URI or mail address with the same text as a DNS name proves nothing, because authorities verify
// it in a different way.
TEST(Tls, NamesOfAnotherKindProveNothing) {
  const GuardedServer::Written identities = {{"admin", "    roles: [admin]\n"}};
  GuardedServer server(identities);
  for (const char* names :
       {"URI:admin.test", "email:admin.test", "URI:admin.test,email:admin.test"}) {
    EXPECT_EQ(WhoAmI(server.Open({.pair = server.authority.Issue({.names = names})})),
              StatusCode::UNAUTHENTICATED)
        << names;
  }
  EXPECT_EQ(WhoAmI(server.Open(server.Certificate("admin"))), StatusCode::OK);
}

// Without identities, clients with a certificate of the client CA may do everything, and others
// nothing.
TEST(Tls, MutualTlsIsEnoughWithoutIdentities) {
  GuardedServer server({});
  EXPECT_EQ(WhoAmI(server.Open({})), StatusCode::UNAUTHENTICATED);
  v1::WhoAmIResponse response;
  EXPECT_EQ(WhoAmI(server.Open(server.Certificate("anybody")), &response), StatusCode::OK);
  EXPECT_EQ(response.identity(), "");
  EXPECT_EQ(response.roles_size(), 4);
  const TestAuthority another;
  EXPECT_EQ(WhoAmI(server.Open({.pair = another.Issue({.names = "DNS:anybody.test"})})),
            StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace freshet
