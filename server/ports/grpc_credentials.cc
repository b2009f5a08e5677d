#include "server/ports/grpc_credentials.h"

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "grpc/grpc_security.h"
#include "server/auth/on_behalf.h"

namespace freshet {
namespace {

std::string_view TextOf(const grpc_slice& slice) {
  return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)), GRPC_SLICE_LENGTH(slice)};
}

// What gRPC has found out about the peer's certificate, which it has checked.
void AddCertificate(const grpc_auth_context* context, Credentials* credentials) {
  grpc_auth_property_iterator it =
      grpc_auth_context_find_properties_by_name(context, GRPC_X509_PEM_CERT_PROPERTY_NAME);
  credentials->certificate = grpc_auth_property_iterator_next(&it) != nullptr;
  it = grpc_auth_context_find_properties_by_name(context, GRPC_X509_SAN_PROPERTY_NAME);
  while (const grpc_auth_property* name = grpc_auth_property_iterator_next(&it)) {
    credentials->names.emplace_back(name->value, name->value_length);
  }
}

// Called by gRPC for each call, on any thread, before anything else looks at it.
void AuthoriseCall(void* authoriser, grpc_auth_context* context, const grpc_metadata* metadata,
                   size_t count, grpc_process_auth_metadata_done_cb done, void* call) {
  Credentials credentials;
  OnBehalfReader on_behalf;
  std::string_view path;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view key = TextOf(metadata[i].key);
    const std::string_view value = TextOf(metadata[i].value);
    if (key == ":path") path = value;
    if (key == "authorization") credentials.AddAuthorization(value);
    on_behalf.Add(key, value);
  }
  if (on_behalf.mistaken()) {
    return done(call, nullptr, 0, nullptr, 0, GRPC_STATUS_UNAVAILABLE,
                "forwarded to a server that is no more: try again");
  }
  AddCertificate(context, &credentials);
  if (std::optional<Credentials> client = on_behalf.Take()) credentials = *std::move(client);
  const Status status = static_cast<Authoriser*>(authoriser)->Authorise(path, credentials).status();
  // Both number their codes alike.
  done(call, nullptr, 0, nullptr, 0, static_cast<grpc_status_code>(status.raw_code()),
       status.ok() ? nullptr : std::string(status.message()).c_str());
}

// gRPC's C++ classes either watch files by themselves, experimentally, or never look again. What
// lies beneath them asks before each handshake. Thread-safe.
class DoorCredentials final : public grpc::ServerCredentials {
 public:
  DoorCredentials(Door& door, Asks asks) : door_(door) {
    credentials_ = door.tls() == nullptr ? grpc_insecure_server_credentials_create() : MakeTls();
    // Without identities no call pays for being looked at.
    if (asks == Asks::kNothing || !door.authoriser().enabled()) return;
    grpc_server_credentials_set_auth_metadata_processor(
        credentials_, {.process = &AuthoriseCall, .destroy = nullptr, .state = &door.authoriser()});
  }
  ~DoorCredentials() override { grpc_server_credentials_release(credentials_); }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {
    CHECK(false, "the door says who comes in");
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

  // Called by gRPC before a handshake, one at a time. Connections that are open keep what they
  // have.
  static grpc_ssl_certificate_config_reload_status Fetch(
      void* self, grpc_ssl_server_certificate_config** config) {
    auto& credentials = *static_cast<DoorCredentials*>(self);
    const std::shared_ptr<const TlsMaterial> tls = credentials.door_.tls();
    if (credentials.version_.exchange(tls->version) == tls->version) {
      return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    }
    const grpc_ssl_pem_key_cert_pair pair = {.private_key = tls->key.c_str(),
                                             .cert_chain = tls->certificate.c_str()};
    // gRPC insists on somebody to believe also where no client is asked for a certificate.
    const std::string& roots = tls->client_ca.empty() ? tls->certificate : tls->client_ca;
    *config = grpc_ssl_server_certificate_config_create(roots.c_str(), &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  Door& door_;
  std::atomic<uint64_t> version_{0};  // that gRPC has
  grpc_server_credentials* credentials_ = nullptr;
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MakeGrpcCredentials(Door& door, Asks asks) {
  return std::make_shared<DoorCredentials>(door, asks);
}

}  // namespace freshet
