// AuthService: tells clients who they are and what they may do.
#ifndef FRESHET_SERVER_API_AUTH_SERVICE_H_
#define FRESHET_SERVER_API_AUTH_SERVICE_H_

#include <vector>

#include "freshet/v1/auth.grpc.pb.h"
#include "server/api/call_method.h"
#include "server/api/context.h"

namespace freshet {

// The methods of the service. `context` outlives them. Thread-safe.
[[nodiscard]] std::vector<CallMethod> AuthMethods(const ServerContext& context);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_AUTH_SERVICE_H_
