// The streams of the crawl-frontier API.
#ifndef FRESHET_SERVER_API_URLFRONTIER_STREAMS_H_
#define FRESHET_SERVER_API_URLFRONTIER_STREAMS_H_

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/api/context.h"

namespace freshet {

// The reactors delete themselves. `context` has a frontier. All are thread-safe.

// URLs come in, one or a batch a message, and each message is acknowledged once it is durable. One
// that cannot be kept, or read, is acknowledged as skipped; the stream goes on.
[[nodiscard]] grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartPutUrls(
    const ServerContext& context, const grpc::CallbackServerContext& call);
[[nodiscard]] grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartPutDiscovered(
    const ServerContext& context, const grpc::CallbackServerContext& call);

// URLs go out, a few at a time as the client takes them: what it has not been written when it
// leaves is there for others at once.
[[nodiscard]] grpc::ServerWriteReactor<grpc::ByteBuffer>* StartGetUrls(
    const ServerContext& context, const grpc::CallbackServerContext& call,
    const grpc::ByteBuffer& request);

// What is kept of URLs. A client that leaves a part unread for longer than
// ServerConfig::list_write_timeout is cut off.
[[nodiscard]] grpc::ServerWriteReactor<grpc::ByteBuffer>* StartListUrls(
    const ServerContext& context, grpc::CallbackServerContext* call,
    const grpc::ByteBuffer& request);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_URLFRONTIER_STREAMS_H_
