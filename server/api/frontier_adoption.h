// Makes pages of crawl-frontier URLs that were put before their crawl id had pages.
#ifndef FRESHET_SERVER_API_FRONTIER_ADOPTION_H_
#define FRESHET_SERVER_API_FRONTIER_ADOPTION_H_

#include <string>

#include "server/api/context.h"

namespace freshet {

// Starts to make a page of each URL of a crawl id in scheduled or shadow mode, a few thousand at a
// time in the background. Continues until all URLs have pages, or the crawl id is in dates mode
// again. If the server stops first, the rest get no pages. Existing pages stay as they are.
//
// Some URLs cannot be pages and are skipped: invalid URLs, and in scheduled mode URLs whose text or
// key differs from that of their page. A URL that was deleted or ended in the meantime gets no
// page: the frontier's thread checks each URL and sends its page at once, so a later removal
// arrives after the page. Pages that a busy server refuses are tried again.
//
// Precondition: `context` has a frontier. Thread-safe.
void AdoptUrls(const ServerContext& context, const std::string& crawl_id);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FRONTIER_ADOPTION_H_
