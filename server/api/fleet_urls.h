// The calls by which the server with a fleet's crawl frontier reaches other divisions. They concern
// pages that belong to URLs of the frontier.
#ifndef FRESHET_SERVER_API_FLEET_URLS_H_
#define FRESHET_SERVER_API_FLEET_URLS_H_

#include "freshet/v1/fleet.pb.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/api/context.h"
#include "server/api/unary.h"

namespace freshet {

// FleetService::TakeUrls. Thread-safe.
[[nodiscard]] Reactor* StartTakeUrls(const ServerContext& context, ServerCall* call);

// FleetService::LeaseUrls. Thread-safe.
void HandleLeaseUrls(const ServerContext& context,
                     UnaryCall<v1::LeaseUrlsRequest, v1::LeaseUrlsResponse>* call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FLEET_URLS_H_
