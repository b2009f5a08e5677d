// Lists and exports of pages: chunks read from the store in the background, completed by the shards
// with what only they know, and written one at a time.
#ifndef FRESHET_SERVER_PAGE_LISTER_H_
#define FRESHET_SERVER_PAGE_LISTER_H_

#include "freshet/v1/pages.pb.h"
#include "grpcpp/support/server_callback.h"
#include "server/context.h"

namespace freshet {

// The reactors delete themselves. Thread-safe.
[[nodiscard]] grpc::ServerWriteReactor<v1::ListPagesResponse>* StartListing(
    const ServerContext& context, const v1::ListPagesRequest& request);
[[nodiscard]] grpc::ServerWriteReactor<v1::ExportPagesResponse>* StartExport(
    const ServerContext& context, const v1::ExportPagesRequest& request);

}  // namespace freshet

#endif  // FRESHET_SERVER_PAGE_LISTER_H_
