// Makes pages of crawl-frontier URLs that are older than the schedule of their crawl id.
#ifndef FRESHET_SERVER_API_FRONTIER_ADOPTION_H_
#define FRESHET_SERVER_API_FRONTIER_ADOPTION_H_

#include <string>

#include "server/api/context.h"

namespace freshet {

// Begins to make a page of each URL of a scheduled crawl id, some thousand at a time in the
// background. Goes on until all have one, the crawl id goes by dates again or the server stops; a
// stop ends it for good. Existing pages stay as they are. URLs that cannot be pages are skipped:
// invalid ones, and in scheduled mode those with another text or key than their page. A URL deleted
// or ended before its turn gets no page: the frontier's thread checks each, and sends its page on
// at once, so that a removal follows it. A busy server's pages are tried again. `context` has a
// frontier. Thread-safe.
void AdoptUrls(const ServerContext& context, const std::string& crawl_id);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FRONTIER_ADOPTION_H_
