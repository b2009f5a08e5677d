// gRPC's reflection service: describes services and their messages to tools. gRPC's implementation
// needs a thread for each call, and does not check callers. Here the calls are streams like all
// others.
#ifndef FRESHET_SERVER_API_REFLECTION_SERVICE_H_
#define FRESHET_SERVER_API_REFLECTION_SERVICE_H_

#include <string>
#include <vector>

#include "server/api/call_method.h"
#include "server/api/context.h"

namespace freshet {

// The method of the service. `services` has the full names of the services to list. `context`
// outlives the method. Thread-safe.
[[nodiscard]] std::vector<CallMethod> ReflectionMethods(const ServerContext& context,
                                                        std::vector<std::string> services);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_REFLECTION_SERVICE_H_
