#include "server/api/caller.h"

#include <optional>
#include <utility>

#include "core/base/check.h"
#include "grpc/grpc_security_constants.h"
#include "server/api/inside.h"
#include "server/auth/certificate_name.h"
#include "server/auth/tls_files.h"
#include "server/base/client_network.h"

namespace freshet {

Credentials CredentialsOf(const grpc::CallbackServerContext& call) {
  if (std::optional<Credentials> inside = InsideCredentials(call)) return *std::move(inside);
  Credentials credentials;
  const auto [begin, end] = call.client_metadata().equal_range("authorization");
  for (auto it = begin; it != end; ++it) {
    credentials.AddAuthorization({it->second.data(), it->second.size()});
  }
  credentials.certificate = AddCertificate(call, &credentials.names, &credentials.certificate_ends);
  credentials.network = NetworkOfPeer(call.peer());
  return credentials;
}

ShownByClient ShownBy(const grpc::CallbackServerContext& call) {
  if (std::optional<ShownByClient> inside = ShownInside(call)) return *std::move(inside);
  ShownByClient shown;
  const auto [begin, end] = call.client_metadata().equal_range("authorization");
  for (auto it = begin; it != end; ++it) {
    shown.authorizations.emplace_back(it->second.data(), it->second.size());
  }
  shown.certificate = AddCertificate(call, &shown.names, &shown.certificate_ends);
  shown.address = IpAddressText(NetworkOfPeer(call.peer()));
  return shown;
}

bool AddCertificate(const grpc::CallbackServerContext& call, std::vector<std::string>* names,
                    Instant* ends) {
  const auto peer = call.auth_context();
  for (const PeerNameProperty& property : kPeerNameProperties) {
    for (const grpc::string_ref& name : peer->FindPropertyValues(property.name)) {
      const std::string_view text(name.data(), name.size());
      if (KindOfName(text) == property.kind) names->emplace_back(text);
    }
  }
  const auto certificates = peer->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (certificates.empty()) return false;
  *ends = CertificateEnd({certificates.front().data(), certificates.front().size()});
  return true;
}

Status CheckServer(const MethodRule& rule, const ShownByClient& shown) {
  if (!rule.between_servers || shown.sent_on) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kPermissionDenied,
                    "only the servers of a fleet may call this");
}

Status LetIn(Authoriser& authoriser, std::string_view path,
             const grpc::CallbackServerContext& call) {
  // Without identities there is nothing to check, so calls do not pay the cost of the check.
  if (!authoriser.enabled()) return absl::OkStatus();
  OnBehalfReader on_behalf = ReadOnBehalf(call);
  if (on_behalf.mistaken()) {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      "the server to which this call was forwarded has shut down: try again");
  }
  if (on_behalf.let_in()) return absl::OkStatus();
  return authoriser.Authorise(path, CredentialsOf(call)).status();
}

CallAuth::CallAuth(Authoriser& authoriser, Clock& clock, std::string_view path,
                   const grpc::CallbackServerContext& call)
    : authoriser_(authoriser),
      clock_(clock),
      rule_(FindMethod(path)),
      credentials_(CredentialsOf(call)),
      peer_(PeerNamed(call.peer())) {
  CHECK(rule_ != nullptr, "{} has no rule", path);
  if (rule_->between_servers) server_ = CheckServer(*rule_, ShownBy(call));
  generation_ = authoriser_.generation();
  caller_ = Recognise(clock_.Now());
  client_ = Authoriser::ClientOf(caller_.ok() ? *caller_ : Caller(), credentials_);
  admin_ = caller_.ok() && caller_->claim().admin;
  const bool known = caller_.ok() && caller_->identity() != nullptr;
  stranger_ = !known && !rule_->between_servers && authoriser_.IsStranger(credentials_);
}

StatusOr<Caller> CallAuth::Recognise(Instant now) const {
  RETURN_IF_ERROR(server_);
  ASSIGN_OR_RETURN(Caller caller, authoriser_.Check(*rule_, credentials_));
  caller.SetBudget(authoriser_.BudgetOf(caller, credentials_, now));
  caller.SetClient(ClientNumber(Authoriser::ClientOf(caller, credentials_)));
  return caller;
}

Status CallAuth::Check() const { return Look().status(); }

StatusOr<Caller> CallAuth::Look() const {
  RETURN_IF_ERROR(server_);
  return authoriser_.Check(*rule_, credentials_);
}

Duration CallAuth::Owes() const {
  const Instant now = clock_.Now();
  const StatusOr<Caller> caller = Recognise(now);
  return caller.ok() ? caller->Owes(now) : Duration();
}

StatusOr<const Caller*> CallAuth::Get() {
  if (const uint64_t generation = authoriser_.generation(); generation != generation_) {
    generation_ = generation;
    caller_ = Recognise(clock_.Now());
  }
  RETURN_IF_ERROR(caller_.status());
  return &*caller_;
}

}  // namespace freshet
