// gRPC's reflection: tells tools about services and their messages. The service that gRPC has takes
// a thread for each call and checks no caller; here the calls are streams like all others.
#ifndef FRESHET_SERVER_API_REFLECTION_SERVICE_H_
#define FRESHET_SERVER_API_REFLECTION_SERVICE_H_

#include <string>
#include <vector>

#include "server/api/call_method.h"
#include "server/api/context.h"

namespace freshet {

// The method of the service, which tells of services with these full names. `context` outlives it.
// Thread-safe.
[[nodiscard]] std::vector<CallMethod> ReflectionMethods(const ServerContext& context,
                                                        std::vector<std::string> services);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_REFLECTION_SERVICE_H_
