// Lists and exports of pages. Chunks are read from the store in the background, completed by the
// shards, and written one at a time.
#ifndef FRESHET_SERVER_API_PAGE_LISTER_H_
#define FRESHET_SERVER_API_PAGE_LISTER_H_

#include "server/api/call_method.h"
#include "server/api/context.h"

namespace freshet {

// These start a list and an export. The message must be a ListPagesRequest or ExportPagesRequest;
// otherwise the call ends with INVALID_ARGUMENT. Thread-safe.
[[nodiscard]] Reactor* StartListing(const ServerContext& context, ServerCall* call);
[[nodiscard]] Reactor* StartExport(const ServerContext& context, ServerCall* call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_PAGE_LISTER_H_
