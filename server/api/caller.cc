#include "server/api/caller.h"

#include "core/base/check.h"
#include "grpc/grpc_security_constants.h"

namespace freshet {
namespace {

Credentials CredentialsFor(const Authoriser& authoriser, const grpc::CallbackServerContext& call) {
  return authoriser.enabled() ? CredentialsOf(call) : Credentials();
}

}  // namespace

Credentials CredentialsOf(const grpc::CallbackServerContext& call) {
  Credentials credentials;
  const auto [begin, end] = call.client_metadata().equal_range("authorization");
  for (auto it = begin; it != end; ++it) {
    credentials.AddAuthorization({it->second.data(), it->second.size()});
  }
  const auto peer = call.auth_context();
  credentials.certificate = !peer->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME).empty();
  for (const grpc::string_ref& name : peer->FindPropertyValues(GRPC_X509_SAN_PROPERTY_NAME)) {
    credentials.names.emplace_back(name.data(), name.size());
  }
  return credentials;
}

CallAuth::CallAuth(Authoriser& authoriser, std::string_view path,
                   const grpc::CallbackServerContext& call)
    : authoriser_(authoriser),
      rule_(FindMethod(path)),
      credentials_(CredentialsFor(authoriser, call)),
      generation_(authoriser.generation()) {
  CHECK(rule_ != nullptr, "{} has no rule", path);
  caller_ = authoriser_.Check(*rule_, credentials_);
}

Status CallAuth::Check() const { return authoriser_.Check(*rule_, credentials_).status(); }

StatusOr<const Caller*> CallAuth::Get() {
  if (const uint64_t generation = authoriser_.generation(); generation != generation_) {
    generation_ = generation;
    caller_ = authoriser_.Check(*rule_, credentials_);
  }
  RETURN_IF_ERROR(caller_.status());
  return &*caller_;
}

}  // namespace freshet
