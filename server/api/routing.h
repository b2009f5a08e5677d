// Routes a unary call in a fleet by its MethodRule: to this server, to that of another division, or
// to all.
#ifndef FRESHET_SERVER_API_ROUTING_H_
#define FRESHET_SERVER_API_ROUTING_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/status.h"

namespace freshet {

struct ServerContext;
class UnaryReactor;

// Handles the call on the servers of its route, and answers it, now or later. Precondition: the
// request has been read. Thread-safe.
void HandleByRoute(const ServerContext& context, UnaryReactor* call);

// The slot of the host in the request's field `host` or `url`; nullopt = the request has neither
// field, or the field has no valid host. Thread-safe.
[[nodiscard]] std::optional<Slot> SlotNamedIn(const google::protobuf::Message& request);

// The status of a call that every division runs. OK = at least one division succeeded, and none
// failed, except with NotFound. `own` is the status of this server, and `others` has the statuses
// of the other divisions. Thread-safe.
[[nodiscard]] grpc::Status EndOfAll(const grpc::Status& own,
                                    const std::vector<std::pair<uint32_t, Status>>& others);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_ROUTING_H_
