// Calls on behalf of a client (server/auth/on_behalf.h), in gRPC. The HTTP port makes these calls
// over an in-process channel to its own server, and other servers of the cluster forward them.
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

// The credentials of the request's client.
[[nodiscard]] ShownByClient ShownBy(const HttpRequest& request);
// Adds metadata to an in-process call: the call is on behalf of the request's client, and the HTTP
// port has already checked that client.
void ComeAs(const HttpRequest& request, grpc::ClientContext* call);
// Reads the metadata that says on whose behalf a call is made.
[[nodiscard]] OnBehalfReader ReadOnBehalf(const grpc::CallbackServerContext& call);
// The credentials of that client; unset = the call is not on behalf of a client.
[[nodiscard]] std::optional<Credentials> InsideCredentials(const grpc::CallbackServerContext& call);
// The same credentials in the form that can be forwarded.
[[nodiscard]] std::optional<ShownByClient> ShownInside(const grpc::CallbackServerContext& call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_INSIDE_H_
