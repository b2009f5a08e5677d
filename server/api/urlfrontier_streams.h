// The streams of the crawl-frontier API.
#ifndef FRESHET_SERVER_API_URLFRONTIER_STREAMS_H_
#define FRESHET_SERVER_API_URLFRONTIER_STREAMS_H_

#include "server/api/call_method.h"
#include "server/api/context.h"

namespace freshet {

// The reactors delete themselves. `context` has a frontier. All are thread-safe.

// URLs come in, one or a batch a message, and each message is acknowledged once it is durable. One
// that cannot be kept, or read, is acknowledged as skipped; the stream goes on.
[[nodiscard]] Reactor* StartPutUrls(const ServerContext& context, ServerCall* call);
[[nodiscard]] Reactor* StartPutDiscovered(const ServerContext& context, ServerCall* call);

// URLs go out, a few at a time as the client takes them: what it has not been written when it
// leaves, or takes nothing for longer than ServerConfig::list_write_timeout, is there for others at
// once.
[[nodiscard]] Reactor* StartGetUrls(const ServerContext& context, ServerCall* call);

// What is kept of URLs. A client that leaves a part unread for longer than
// ServerConfig::list_write_timeout is cut off.
[[nodiscard]] Reactor* StartListUrls(const ServerContext& context, ServerCall* call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_URLFRONTIER_STREAMS_H_
