// Counts leased pages in a fleet, for the statistics of the crawl-frontier API.
#ifndef FRESHET_SERVER_API_LEASED_PAGES_H_
#define FRESHET_SERVER_API_LEASED_PAGES_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/base/status.h"
#include "freshet/v1/fleet.pb.h"
#include "server/api/context.h"
#include "server/api/unary.h"

namespace freshet {

inline constexpr std::string_view kCountLeasedPagesPath =
    "/freshet.v1.FleetService/CountLeasedPages";

// Counts in all divisions what FleetService::CountLeasedPages counts in one. Divisions that do not
// answer are left out. `done` is called once, on any thread. Unavailable: this server is too busy.
// Thread-safe.
void CountLeasedPages(const ServerContext& context, const v1::CountLeasedPagesRequest& request,
                      std::function<void(StatusOr<uint64_t>)> done);

// FleetService::CountLeasedPages. Thread-safe.
void HandleCountLeasedPages(
    const ServerContext& context,
    UnaryCall<v1::CountLeasedPagesRequest, v1::CountLeasedPagesResponse>* call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_LEASED_PAGES_H_
