// AdminService.DrainNode: moves the divisions that a node serves to standbys on other nodes.
#ifndef FRESHET_SERVER_API_DRAIN_H_
#define FRESHET_SERVER_API_DRAIN_H_

#include <string>
#include <vector>

#include "freshet/v1/admin.grpc.pb.h"
#include "server/api/context.h"
#include "server/api/unary.h"

namespace freshet {

// Why the server of a node should not end, after which Kafka chooses one of its standbys; empty =
// it may. Thread-safe.
[[nodiscard]] std::string WhyNotDrained(const std::string& node,
                                        const std::vector<v1::FleetStandby>& standbys);

// Ends the servers with this name in all divisions, unless there is a reason not to. Called by a
// server of another division: only this server.
void DrainNode(const ServerContext& context,
               UnaryCall<v1::DrainNodeRequest, v1::DrainNodeResponse>* call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_DRAIN_H_
