// Calls on behalf of a client (server/auth/on_behalf.h) in gRPC. The server makes some to itself
// for its HTTP port, over an in-process channel; others come from another server of the cluster.
#ifndef FRESHET_SERVER_API_INSIDE_H_
#define FRESHET_SERVER_API_INSIDE_H_

#include <optional>

#include "grpcpp/client_context.h"
#include "grpcpp/server_context.h"
#include "server/auth/authoriser.h"
#include "server/auth/on_behalf.h"
#include "server/ports/http_message.h"

namespace freshet {

// All functions are thread-safe.

// The credentials that the client of the request has shown.
[[nodiscard]] ShownByClient ShownBy(const HttpRequest& request);
// Makes an in-process call on behalf of the client of the request, whom the HTTP port has let in.
void ComeAs(const HttpRequest& request, grpc::ClientContext* call);
// Reads the metadata that says on whose behalf a call is made.
[[nodiscard]] OnBehalfReader ReadOnBehalf(const grpc::CallbackServerContext& call);
// The credentials of that client; unset = the call is on nobody's behalf.
[[nodiscard]] std::optional<Credentials> InsideCredentials(const grpc::CallbackServerContext& call);
// The same credentials, to be passed on.
[[nodiscard]] std::optional<ShownByClient> ShownInside(const grpc::CallbackServerContext& call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_INSIDE_H_
