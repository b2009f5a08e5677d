#include "server/api/caller.h"

#include "core/base/check.h"
#include "grpc/grpc_security_constants.h"
#include "server/base/client_network.h"

namespace freshet {

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
  credentials.network = NetworkOfPeer(call.peer());
  return credentials;
}

CallAuth::CallAuth(Authoriser& authoriser, Clock& clock, std::string_view path,
                   const grpc::CallbackServerContext& call)
    : authoriser_(authoriser),
      clock_(clock),
      rule_(FindMethod(path)),
      credentials_(CredentialsOf(call)) {
  CHECK(rule_ != nullptr, "{} has no rule", path);
  Recognise();
  client_ = Authoriser::ClientOf(caller_.ok() ? *caller_ : Caller(), credentials_);
}

void CallAuth::Recognise() {
  generation_ = authoriser_.generation();
  caller_ = authoriser_.Check(*rule_, credentials_);
  if (caller_.ok()) {
    caller_->SetBudget(authoriser_.BudgetOf(*caller_, credentials_, clock_.Now()));
  }
}

Status CallAuth::Check() const { return authoriser_.Check(*rule_, credentials_).status(); }

Duration CallAuth::Owes() const {
  StatusOr<Caller> caller = authoriser_.Check(*rule_, credentials_);
  if (!caller.ok()) return {};
  const Instant now = clock_.Now();
  caller->SetBudget(authoriser_.BudgetOf(*caller, credentials_, now));
  return caller->Owes(now);
}

StatusOr<const Caller*> CallAuth::Get() {
  if (authoriser_.generation() != generation_) Recognise();
  RETURN_IF_ERROR(caller_.status());
  return &*caller_;
}

}  // namespace freshet
