// URLs of the crawl-frontier API that were put before their crawl id had pages become pages.
#ifndef FRESHET_SERVER_API_FRONTIER_ADOPTION_H_
#define FRESHET_SERVER_API_FRONTIER_ADOPTION_H_

#include <string>

#include "server/api/context.h"

namespace freshet {

// Begins to make a page of each URL of the crawl id that is scheduled, some thousand at a time in
// the background, and goes on until all have one, the crawl id goes by dates again or the server
// stops; a stop ends it for good. Pages that are there stay as they are. A URL that no page can
// stand for is left out: it is none or, in scheduled mode, under another text or key than its page
// would be. A URL that is deleted or ended meanwhile gets no page: each is looked up on the
// frontier's thread, which sends its page on at once, so that a removal follows it. Thread-safe.
// `context` has a frontier.
void AdoptUrls(const ServerContext& context, const std::string& crawl_id);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FRONTIER_ADOPTION_H_
