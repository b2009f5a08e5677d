// SchedulerService: assignments to workers, on streams and by single calls.
#ifndef FRESHET_SERVER_API_SCHEDULER_SERVICE_H_
#define FRESHET_SERVER_API_SCHEDULER_SERVICE_H_

#include <string_view>
#include <vector>

#include "freshet/v1/scheduler.grpc.pb.h"
#include "server/api/call_method.h"
#include "server/api/context.h"

namespace freshet {

inline constexpr std::string_view kNextPath = "/freshet.v1.SchedulerService/Next";

// The methods of the service. `context` outlives them. Thread-safe.
[[nodiscard]] std::vector<CallMethod> SchedulerMethods(const ServerContext& context);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_SCHEDULER_SERVICE_H_
