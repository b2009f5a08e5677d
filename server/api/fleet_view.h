// AdminService.GetFleet: the state of each division of a fleet.
#ifndef FRESHET_SERVER_API_FLEET_VIEW_H_
#define FRESHET_SERVER_API_FLEET_VIEW_H_

#include "freshet/v1/admin.grpc.pb.h"
#include "server/api/context.h"
#include "server/api/unary.h"

namespace freshet {

// The status of a cluster call at a server without a cluster. Thread-safe.
[[nodiscard]] grpc::Status OfNoCluster();

// Answers with all divisions, or with this server's alone if another division's server asks.
void ShowFleet(const ServerContext& context,
               UnaryCall<v1::GetFleetRequest, v1::GetFleetResponse>* call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FLEET_VIEW_H_
