// Crawl ids of the crawl-frontier API with URLs that are also pages. URLs of scheduled ones are
// given out by crawl value; shadow mode is described last.
//
// Such a URL has two parts under one name. An entry of the frontier has metadata and counts as for
// any URL. A page of the same crawl id is scheduled and leased as any page. A put URL is durable in
// the frontier first, then the page follows, and only then is it acknowledged. So a client sends
// again what was not acknowledged, and both parts accept repetitions. A URL to be given out is
// leased as a page; its entry is only read. A page without an entry (it came by UpsertPages, or
// before the crawl id was scheduled) is given out as well, and gets one with its result. So a
// deletion of entries removes their pages first (server/api/url_removal.h).
//
// In shadow mode the entry keeps the client's key, text and date, and is given out by that date.
// The page has the canonical text, follows in the same order, and is never handed out
// (docs/decisions/0030-shadow-crawls.md).
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

// Whether the crawl id is scheduled by the present modes.
[[nodiscard]] bool IsScheduled(const ServerContext& context, std::string_view crawl);

// The name of a URL's entry and page for any text and key that a client sent: the canonical text,
// and the host as key. InvalidArgument: it is no URL of a page.
[[nodiscard]] StatusOr<FrontierName> ScheduledName(const std::string& crawl,
                                                   const std::string& url);

// The page of a frontier entry with this key and text in this mode; nullopt = none.
[[nodiscard]] std::optional<FrontierName> PageOfUrl(FrontierMode mode, const std::string& crawl,
                                                    std::string_view key, std::string_view url);

// The event that removes the page of that name.
[[nodiscard]] RemovePage RemovalOf(const FrontierName& name);

// As Frontier::Put, Pull and GiveBack, for URLs of all crawl ids. Outcomes may come on any thread.
// `reporter`: the client, to which leases that its known URLs end must belong.
[[nodiscard]] bool PutUrls(const ServerContext& context, std::vector<FrontierPut> puts,
                           const Reporter& reporter, Frontier::PutDone done);
// `who`: the client. A pull from a scheduled crawl id gets the URLs that are due within kPullWait,
// and is then over.
void PullUrls(const ServerContext& context, const std::shared_ptr<FrontierPull>& pull, size_t most,
              const PullingClient& who, Frontier::PullDone done);
// Takes back URLs that did not reach the client of that number.
void GiveBackUrls(const ServerContext& context, std::vector<FrontierServed> served,
                  uint64_t client);

// Blocks the host for its pages, as the event says. `done` is called once the division of its pages
// knows. NotFound: the crawl id has no URL, or no page, of the host, and nothing is blocked. Any
// other error: that division may not know.
void BlockScheduledHost(const ServerContext& context, BlockHost block,
                        std::function<void(const Status&)> done);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_SCHEDULED_CRAWLS_H_
