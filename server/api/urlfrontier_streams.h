// The streams of the crawl-frontier API.
#ifndef FRESHET_SERVER_API_URLFRONTIER_STREAMS_H_
#define FRESHET_SERVER_API_URLFRONTIER_STREAMS_H_

#include "server/api/call_method.h"
#include "server/api/context.h"

namespace freshet {

// The reactors delete themselves. `context` has a frontier. All are thread-safe.

// Takes URLs, one or a batch in a message, and acknowledges each message once it is durable. A URL
// that cannot be kept, or read, is acknowledged as skipped; the stream stays open.
[[nodiscard]] Reactor* StartPutUrls(const ServerContext& context, ServerCall* call);
[[nodiscard]] Reactor* StartPutDiscovered(const ServerContext& context, ServerCall* call);

// Gives out URLs, a few at a time as the client takes them. URLs that are not written when the
// client leaves, or takes nothing for longer than ServerConfig::list_write_timeout, are there for
// others at once.
[[nodiscard]] Reactor* StartGetUrls(const ServerContext& context, ServerCall* call);

// Lists the stored URLs. A client that leaves a part unread for longer than
// ServerConfig::list_write_timeout is cut off.
[[nodiscard]] Reactor* StartListUrls(const ServerContext& context, ServerCall* call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_URLFRONTIER_STREAMS_H_
