// Lists and exports of pages: chunks read from the store in the background, completed by the shards
// with what only they know, and written one at a time.
#ifndef FRESHET_SERVER_API_PAGE_LISTER_H_
#define FRESHET_SERVER_API_PAGE_LISTER_H_

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/api/context.h"

namespace freshet {

// The reactors delete themselves. `request` is a ListPagesRequest or ExportPagesRequest; one that
// is not ends the call with INVALID_ARGUMENT. `call` is cancelled when its client leaves a chunk
// unread for longer than ServerConfig::list_write_timeout. Thread-safe.
[[nodiscard]] grpc::ServerWriteReactor<grpc::ByteBuffer>* StartListing(
    const ServerContext& context, grpc::CallbackServerContext* call,
    const grpc::ByteBuffer& request);
[[nodiscard]] grpc::ServerWriteReactor<grpc::ByteBuffer>* StartExport(
    const ServerContext& context, grpc::CallbackServerContext* call,
    const grpc::ByteBuffer& request);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_PAGE_LISTER_H_
