// The streams of the crawl-frontier API.
#ifndef FRESHET_SERVER_API_URLFRONTIER_STREAMS_H_
#define FRESHET_SERVER_API_URLFRONTIER_STREAMS_H_

#include "server/api/call_method.h"
#include "server/api/context.h"

namespace freshet {

// All functions are thread-safe. Precondition: `context` has a frontier. The reactors delete
// themselves.

// These take URLs, one or a batch in each message, and acknowledge each message once its URLs are
// durable. A URL that is invalid or cannot be kept is acknowledged as skipped, and the stream stays
// open.
[[nodiscard]] Reactor* StartPutUrls(const ServerContext& context, ServerCall* call);
[[nodiscard]] Reactor* StartPutDiscovered(const ServerContext& context, ServerCall* call);

// Hands out URLs as the client reads them. If the client leaves, or reads nothing for longer than
// ServerConfig::list_write_timeout, other clients can get the unwritten URLs at once.
[[nodiscard]] Reactor* StartGetUrls(const ServerContext& context, ServerCall* call);

// Lists the stored URLs. A client that reads nothing for longer than
// ServerConfig::list_write_timeout is cut off.
[[nodiscard]] Reactor* StartListUrls(const ServerContext& context, ServerCall* call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_URLFRONTIER_STREAMS_H_
