// Calls on behalf of a client (server/auth/on_behalf.h), in gRPC. There are two kinds: calls that
// the HTTP port makes to its own server over an in-process channel, and calls that another server
// of the cluster forwards.
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
// Adds metadata to an in-process call. The metadata says that the call is on behalf of the
// request's client, and that the HTTP port has already checked this client.
void ComeAs(const HttpRequest& request, grpc::ClientContext* call);
// Reads the metadata that says on whose behalf a call is made.
[[nodiscard]] OnBehalfReader ReadOnBehalf(const grpc::CallbackServerContext& call);
// The credentials of that client; unset = the call is not on behalf of a client.
[[nodiscard]] std::optional<Credentials> InsideCredentials(const grpc::CallbackServerContext& call);
// The same credentials in the form that can be forwarded.
[[nodiscard]] std::optional<ShownByClient> ShownInside(const grpc::CallbackServerContext& call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_INSIDE_H_
