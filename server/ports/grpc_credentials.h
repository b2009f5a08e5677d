// How the gRPC port speaks to clients, and whom it lets in: TLS with the certificate that the door
// has at the moment, and the authoriser asked before any call reaches its method.
#ifndef FRESHET_SERVER_PORTS_GRPC_CREDENTIALS_H_
#define FRESHET_SERVER_PORTS_GRPC_CREDENTIALS_H_

#include <memory>

#include "grpcpp/security/server_credentials.h"
#include "server/auth/door.h"

namespace freshet {

// Whether it is asked who calls: not by who has another server answer, and ask.
enum class Asks { kWhoCalls, kNothing };

// `door` outlives the server that uses them.
[[nodiscard]] std::shared_ptr<grpc::ServerCredentials> MakeGrpcCredentials(Door& door, Asks asks);

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_GRPC_CREDENTIALS_H_
