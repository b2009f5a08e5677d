// AdminService.DrainNode: moves the divisions of a node to standbys on other nodes.
#ifndef FRESHET_SERVER_API_DRAIN_H_
#define FRESHET_SERVER_API_DRAIN_H_

#include <string>
#include <vector>

#include "freshet/v1/admin.grpc.pb.h"
#include "server/api/context.h"
#include "server/api/unary.h"

namespace freshet {

// The reason why the server on a node should not end; empty = it may end. Once the server has
// ended, Kafka makes one of the standbys active. Thread-safe.
[[nodiscard]] std::string WhyNotDrained(const std::string& node,
                                        const std::vector<v1::FleetStandby>& standbys);

// Ends the servers on the node in all divisions, except those that should not end. If another
// server has forwarded the call, only this server can end. Answers the call.
void DrainNode(const ServerContext& context,
               UnaryCall<v1::DrainNodeRequest, v1::DrainNodeResponse>* call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_DRAIN_H_
