// The crawl-frontier API, urlfrontier.URLFrontier, on the server's frontier (docs/urlfrontier.md).
#ifndef FRESHET_SERVER_API_URLFRONTIER_SERVICE_H_
#define FRESHET_SERVER_API_URLFRONTIER_SERVICE_H_

#include <string>
#include <vector>

#include "server/api/call_method.h"
#include "server/api/context.h"
#include "urlfrontier/urlfrontier.grpc.pb.h"

namespace freshet {

// The methods of the service, for a server with a frontier. `context` outlives them. Thread-safe.
[[nodiscard]] std::vector<CallMethod> UrlFrontierMethods(const ServerContext& context);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_URLFRONTIER_SERVICE_H_
