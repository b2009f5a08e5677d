// AdminService.GetFleet: what each division of a fleet says of itself.
#ifndef FRESHET_SERVER_API_FLEET_VIEW_H_
#define FRESHET_SERVER_API_FLEET_VIEW_H_

#include "freshet/v1/admin.grpc.pb.h"
#include "server/api/context.h"
#include "server/api/unary.h"

namespace freshet {

// How a call about a cluster ends at a server of none. Thread-safe.
[[nodiscard]] grpc::Status OfNoCluster();

// Answers with all divisions, or, to a server of another one, with this server's alone.
void ShowFleet(const ServerContext& context,
               UnaryCall<v1::GetFleetRequest, v1::GetFleetResponse>* call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FLEET_VIEW_H_
