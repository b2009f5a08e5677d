// AdminService.DrainNode: the divisions that a node serves go to standbys on others.
#ifndef FRESHET_SERVER_API_DRAIN_H_
#define FRESHET_SERVER_API_DRAIN_H_

#include <string>
#include <vector>

#include "freshet/v1/admin.grpc.pb.h"
#include "server/api/context.h"
#include "server/api/unary.h"

namespace freshet {

// Why the server of a node should not end, of whose standbys Kafka chooses one then; empty: it may.
// Thread-safe.
[[nodiscard]] std::string WhyNotDrained(const std::string& node,
                                        const std::vector<v1::FleetStandby>& standbys);

// Has the servers of all divisions end that are called so, each unless there is a reason not to.
// Asked by a server of another division: this server alone.
void DrainNode(const ServerContext& context,
               UnaryCall<v1::DrainNodeRequest, v1::DrainNodeResponse>* call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_DRAIN_H_
