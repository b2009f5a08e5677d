// Calls that are made on behalf of a client (server/auth/on_behalf.h), as gRPC has them: those that
// the server makes of itself for its HTTP port, over an in-process channel, and those that come
// from another server of the cluster.
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

// What the client that sent the request has shown.
[[nodiscard]] ShownByClient ShownBy(const HttpRequest& request);
// Makes the call one of the client that sent the request, which the HTTP port has let in: an
// in-process call.
void ComeAs(const HttpRequest& request, grpc::ClientContext* call);
// All that a call says about on whose behalf it is made.
[[nodiscard]] OnBehalfReader ReadOnBehalf(const grpc::CallbackServerContext& call);
// What that client has shown; unset: the call has come from elsewhere.
[[nodiscard]] std::optional<Credentials> InsideCredentials(const grpc::CallbackServerContext& call);
// The same, to be passed on.
[[nodiscard]] std::optional<ShownByClient> ShownInside(const grpc::CallbackServerContext& call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_INSIDE_H_
