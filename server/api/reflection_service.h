// gRPC's reflection: tools ask what services there are, and of what messages. gRPC's own service
// for it has a thread for each call and asks nobody who calls; these calls are streams like all
// others, and count as such.
#ifndef FRESHET_SERVER_API_REFLECTION_SERVICE_H_
#define FRESHET_SERVER_API_REFLECTION_SERVICE_H_

#include <string>
#include <vector>

#include "server/api/call_method.h"
#include "server/api/context.h"

namespace freshet {

// The method of the service, which tells of services of these full names. `context` outlives it.
// Thread-safe.
[[nodiscard]] std::vector<CallMethod> ReflectionMethods(const ServerContext& context,
                                                        std::vector<std::string> services);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_REFLECTION_SERVICE_H_
