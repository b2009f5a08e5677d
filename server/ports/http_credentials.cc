#include "server/ports/http_credentials.h"

#include "server/base/client_network.h"

namespace freshet {

Credentials CredentialsOf(const HttpRequest& request) {
  Credentials credentials;
  for (const auto& [name, value] : request.fields) {
    if (SameIgnoringCase(name, "Authorization")) credentials.AddAuthorization(value);
  }
  credentials.certificate = request.certificate;
  credentials.names = request.certificate_names;
  credentials.certificate_ends = request.certificate_ends;
  if (const auto address = ParseIpAddress(request.peer)) credentials.network = NetworkOf(*address);
  return credentials;
}

}  // namespace freshet
