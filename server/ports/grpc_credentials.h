// The transport security of the gRPC port: TLS with the door's current certificate, or plain text.
// Each method checks its caller (server/api/caller.h).
#ifndef FRESHET_SERVER_PORTS_GRPC_CREDENTIALS_H_
#define FRESHET_SERVER_PORTS_GRPC_CREDENTIALS_H_

#include <memory>

#include "grpcpp/security/server_credentials.h"
#include "server/auth/door.h"

namespace freshet {

// `door` outlives the server that uses the credentials.
[[nodiscard]] std::shared_ptr<grpc::ServerCredentials> MakeGrpcCredentials(Door& door);

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_GRPC_CREDENTIALS_H_
