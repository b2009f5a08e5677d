// How the gRPC port speaks to clients: TLS with the certificate that the door has at the moment, or
// plain text. Who calls the methods ask themselves (server/api/caller.h).
#ifndef FRESHET_SERVER_PORTS_GRPC_CREDENTIALS_H_
#define FRESHET_SERVER_PORTS_GRPC_CREDENTIALS_H_

#include <memory>

#include "grpcpp/security/server_credentials.h"
#include "server/auth/door.h"

namespace freshet {

// `door` outlives the server that uses them.
[[nodiscard]] std::shared_ptr<grpc::ServerCredentials> MakeGrpcCredentials(Door& door);

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_GRPC_CREDENTIALS_H_
