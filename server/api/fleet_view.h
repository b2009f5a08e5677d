// AdminService.GetFleet: the state of each division of a fleet.
#ifndef FRESHET_SERVER_API_FLEET_VIEW_H_
#define FRESHET_SERVER_API_FLEET_VIEW_H_

#include "freshet/v1/admin.grpc.pb.h"
#include "server/api/context.h"
#include "server/api/unary.h"

namespace freshet {

// The error of a cluster call to a server that is in no cluster. Thread-safe.
[[nodiscard]] grpc::Status OfNoCluster();

// Answers with this server's division; server/api/routing.h adds the others. If other divisions
// cannot be asked, their rows say so.
void ShowFleet(const ServerContext& context,
               UnaryCall<v1::GetFleetRequest, v1::GetFleetResponse>* call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FLEET_VIEW_H_
