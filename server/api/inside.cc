#include "server/api/inside.h"

#include "server/auth/on_behalf.h"

namespace freshet {
namespace {

void Add(const std::pair<std::string, std::string>& metadata, grpc::ClientContext* call) {
  call->AddMetadata(metadata.first, metadata.second);
}

}  // namespace

OnBehalfReader ReadOnBehalf(const grpc::CallbackServerContext& call) {
  OnBehalfReader reader;
  for (const auto& [name, value] : call.client_metadata()) {
    reader.Add({name.data(), name.size()}, {value.data(), value.size()});
  }
  return reader;
}

ShownByClient ShownBy(const HttpRequest& request) {
  ShownByClient client = {.certificate = request.certificate,
                          .names = request.certificate_names,
                          .certificate_ends = request.certificate_ends,
                          .address = request.peer};
  for (const auto& [name, value] : request.fields) {
    if (SameIgnoringCase(name, "Authorization")) client.authorizations.push_back(value);
  }
  return client;
}

void ComeAs(const HttpRequest& request, grpc::ClientContext* call) {
  for (const auto& metadata : OnBehalfOf(ShownBy(request), OwnKey())) Add(metadata, call);
  Add(LetInAlready(), call);
}

std::optional<Credentials> InsideCredentials(const grpc::CallbackServerContext& call) {
  return ReadOnBehalf(call).Take();
}

std::optional<ShownByClient> ShownInside(const grpc::CallbackServerContext& call) {
  return ReadOnBehalf(call).TakeShown();
}

}  // namespace freshet
