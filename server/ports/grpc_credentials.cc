#include "server/ports/grpc_credentials.h"

#include <atomic>
#include <string>

#include "core/base/check.h"
#include "grpc/grpc_security.h"

namespace freshet {
namespace {

// Gives gRPC the certificates. gRPC's C++ credentials either watch files themselves, which is
// experimental, or never reload. Its C core asks for a new configuration before each handshake.
// Thread-safe.
class DoorCredentials final : public grpc::ServerCredentials {
 public:
  explicit DoorCredentials(Door& door) : door_(door) {
    credentials_ = door.tls() == nullptr ? grpc_insecure_server_credentials_create() : MakeTls();
  }
  ~DoorCredentials() override { grpc_server_credentials_release(credentials_); }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {
    CHECK(false, "gRPC 1.51's processor ends the process at some headers");
  }

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  grpc_server_credentials* MakeTls() {
    auto request = GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
    if (!door_.tls()->client_ca.empty()) {
      request = door_.client_certificate_required()
                    ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                    : GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY;
    }
    return grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(request, &Fetch, this));
  }

  // gRPC calls this before a handshake, one at a time. Open connections keep their certificate.
  static grpc_ssl_certificate_config_reload_status Fetch(
      void* self, grpc_ssl_server_certificate_config** config) {
    auto& credentials = *static_cast<DoorCredentials*>(self);
    const std::shared_ptr<const TlsMaterial> tls = credentials.door_.tls();
    if (credentials.version_.exchange(tls->version) == tls->version) {
      return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    }
    const grpc_ssl_pem_key_cert_pair pair = {.private_key = tls->key.c_str(),
                                             .cert_chain = tls->certificate.c_str()};
    // gRPC needs a root certificate even if no client is asked for a certificate.
    const std::string& roots = tls->client_ca.empty() ? tls->certificate : tls->client_ca;
    *config = grpc_ssl_server_certificate_config_create(roots.c_str(), &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  Door& door_;
  std::atomic<uint64_t> version_{0};  // the version that gRPC has
  grpc_server_credentials* credentials_ = nullptr;
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MakeGrpcCredentials(Door& door) {
  return std::make_shared<DoorCredentials>(door);
}

}  // namespace freshet
