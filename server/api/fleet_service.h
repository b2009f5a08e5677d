// FleetService: messages between the servers of a fleet.
#ifndef FRESHET_SERVER_API_FLEET_SERVICE_H_
#define FRESHET_SERVER_API_FLEET_SERVICE_H_

#include <vector>

#include "freshet/v1/fleet.grpc.pb.h"
#include "server/api/call_method.h"
#include "server/api/context.h"

namespace freshet {

// The methods of the service. `context` outlives them. Thread-safe.
[[nodiscard]] std::vector<CallMethod> FleetMethods(const ServerContext& context);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FLEET_SERVICE_H_
