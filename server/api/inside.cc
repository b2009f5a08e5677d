#include "server/api/inside.h"

#include "server/auth/on_behalf.h"

namespace freshet {
namespace {

OnBehalfReader ReaderOf(const grpc::CallbackServerContext& call) {
  OnBehalfReader reader;
  for (const auto& [name, value] : call.client_metadata()) {
    reader.Add({name.data(), name.size()}, {value.data(), value.size()});
  }
  return reader;
}

}  // namespace

ShownByClient ShownBy(const HttpRequest& request) {
  ShownByClient client = {.certificate = request.certificate,
                          .names = request.certificate_names,
                          .address = request.peer};
  for (const auto& [name, value] : request.fields) {
    if (SameIgnoringCase(name, "Authorization")) client.authorizations.push_back(value);
  }
  return client;
}

void ComeAs(const HttpRequest& request, grpc::ClientContext* call) {
  for (const auto& [name, value] : OnBehalfOf(ShownBy(request), OwnKey())) {
    call->AddMetadata(name, value);
  }
}

std::optional<Credentials> InsideCredentials(const grpc::CallbackServerContext& call) {
  return ReaderOf(call).Take();
}

std::optional<ShownByClient> ShownInside(const grpc::CallbackServerContext& call) {
  return ReaderOf(call).TakeShown();
}

}  // namespace freshet
