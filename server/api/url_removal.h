// URLs of the crawl-frontier API are forgotten, and their pages with them.
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

// Forgets those of these URLs of a crawl id that came in before `before`, in seconds since 1970.
// Where they have pages, the URLs are first never to be given out, then the pages are removed, and
// then the URLs are forgotten: whatever ends that in between, no page is left of a URL that is not
// there. A URL that is put meanwhile stays. `done` is called once, on any thread, with how many
// were forgotten. Unavailable: a page could not be removed for now, and what is left is to be
// forgotten again. Whether they have pages is looked up as they are ended, so that a mode that is
// set at the same time holds for all of a call. Thread-safe. `context` has a frontier.
void RemoveUrls(const ServerContext& context, const std::string& crawl,
                std::vector<UrlsOfQueue> parts, uint64_t before,
                std::function<void(StatusOr<uint64_t>)> done);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_URL_REMOVAL_H_
