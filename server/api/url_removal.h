// Removes URLs of the crawl-frontier API with their pages.
#ifndef FRESHET_SERVER_API_URL_REMOVAL_H_
#define FRESHET_SERVER_API_URL_REMOVAL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "server/api/context.h"
#include "server/api/urls_of_queue.h"

namespace freshet {

// Removes the given URLs of a crawl id if they were put before `before`, in seconds since 1970.
// URLs with pages are first marked as ended. Then their pages are removed, and then the URLs. So an
// interruption leaves no page without its URL. A URL that is put during the call stays. `done` is
// called once, on any thread, with the number of removed URLs. Unavailable: a page could not be
// removed for now; the caller should try again. The mode of the crawl id is read when the URLs are
// marked. This mode applies to the whole call. Precondition: `context` has a frontier. Thread-safe.
void RemoveUrls(const ServerContext& context, const std::string& crawl,
                std::vector<UrlsOfQueue> parts, uint64_t before,
                std::function<void(StatusOr<uint64_t>)> done);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_URL_REMOVAL_H_
