// PagesService: the pages, and the reasons why each is crawled or not.
#ifndef FRESHET_SERVER_API_PAGES_SERVICE_H_
#define FRESHET_SERVER_API_PAGES_SERVICE_H_

#include <vector>

#include "freshet/v1/pages.grpc.pb.h"
#include "server/api/call_method.h"
#include "server/api/context.h"

namespace freshet {

// The methods of the service. `context` outlives them. Thread-safe.
[[nodiscard]] std::vector<CallMethod> PagesMethods(const ServerContext& context);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_PAGES_SERVICE_H_
