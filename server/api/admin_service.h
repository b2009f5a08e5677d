// AdminService: the operators' settings and views.
#ifndef FRESHET_SERVER_API_ADMIN_SERVICE_H_
#define FRESHET_SERVER_API_ADMIN_SERVICE_H_

#include <vector>

#include "freshet/v1/admin.grpc.pb.h"
#include "server/api/call_method.h"
#include "server/api/context.h"

namespace freshet {

// The methods of the service. `context` outlives them. Thread-safe.
[[nodiscard]] std::vector<CallMethod> AdminMethods(const ServerContext& context);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_ADMIN_SERVICE_H_
