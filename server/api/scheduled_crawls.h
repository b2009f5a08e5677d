// Crawl ids of the crawl-frontier API whose URLs are pages, too: those whose URLs are given out by
// crawl value, and, at the end, those in shadow mode.
//
// Such a URL is two things under one name: an entry of the frontier, which keeps metadata and
// counts as it does for all others, and a page of the same crawl id, which is scheduled as any.
// What comes in is made durable in the frontier first, then the page follows, and only then is it
// acknowledged: so whatever a client was not told of it sends again, and each of the two takes that
// as said before. What goes out is picked as a page, and leaves once the frontier has it in flight.
// A page that comes up and of which the frontier has nothing (it came by UpsertPages, or before the
// crawl id was scheduled) gets its entry then. Who deletes entries therefore removes their pages
// first (server/api/url_removal.h).
//
// In shadow mode the entry is as its client has put it, key and text and date, and is given out by
// that date; the page goes by the canonical text, follows in the same order, and is handed out to
// nobody (docs/decisions/0030-shadow-crawls.md).
#ifndef FRESHET_SERVER_API_SCHEDULED_CRAWLS_H_
#define FRESHET_SERVER_API_SCHEDULED_CRAWLS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/schedule/event.h"
#include "server/api/context.h"
#include "server/api/page_pull.h"
#include "server/frontier/frontier.h"

namespace freshet {

// As modes are now.
[[nodiscard]] bool IsScheduled(const ServerContext& context, std::string_view crawl);

// What both names of a URL are, whatever text and key a client sent: its canonical text, and its
// host. InvalidArgument: it is no URL of a page.
[[nodiscard]] StatusOr<FrontierName> ScheduledName(const std::string& crawl,
                                                   const std::string& url);

// The page of an entry of the frontier with this key and text, as the mode of its crawl id is;
// nullopt: it has none.
[[nodiscard]] std::optional<FrontierName> PageOfUrl(FrontierMode mode, const std::string& crawl,
                                                    std::string_view key, std::string_view url);

// Removes the page of that name.
[[nodiscard]] RemovePage RemovalOf(const FrontierName& name);

// As Frontier::Put, Pull and GiveBack, for URLs of all crawl ids. Outcomes may come on any thread.
[[nodiscard]] bool PutUrls(const ServerContext& context, std::vector<FrontierPut> puts,
                           Frontier::PutDone done);
// `who`: the client. One of a scheduled crawl id is given once what is due
// within kPullWait, and then it is over.
void PullUrls(const ServerContext& context, const std::shared_ptr<FrontierPull>& pull, size_t most,
              const PullingClient& who, Frontier::PullDone done);
void GiveBackUrls(const ServerContext& context, std::vector<FrontierServed> served);

// Blocks the host for its pages, as the event says. `done` is called once the division of its pages
// knows. NotFound: the host has no URL, or no page, of that crawl id, and is not blocked; not OK
// otherwise: that division may not know.
void BlockScheduledHost(const ServerContext& context, BlockHost block,
                        std::function<void(const Status&)> done);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_SCHEDULED_CRAWLS_H_
