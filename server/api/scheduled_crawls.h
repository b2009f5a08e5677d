// Crawl ids of the crawl-frontier API whose URLs are also pages. In scheduled mode, Freshet hands
// out the URLs by crawl value. The last paragraph describes shadow mode.
//
// A URL of such a crawl id has an entry in the frontier and a page, both with the same name. The
// entry has metadata and counts, like that of any URL. The page, in the same crawl id, is scheduled
// and leased like any page. When a URL is put, its entry becomes durable first, then the page, and
// only then is the URL acknowledged. A client sends a URL again until it is acknowledged, so the
// frontier and the shards accept repetitions. When a URL is handed out, the page is leased, and the
// entry is only read. A page has no entry if UpsertPages made it, or if it is older than the
// scheduled mode of its crawl id. It is handed out too, and its result makes an entry. So entries
// are deleted only after their pages (server/api/url_removal.h).
//
// In shadow mode, an entry keeps the client's key, text and date, and the URL is handed out by that
// date. Its page has the canonical text. The page is made after the entry, as in scheduled mode,
// but never handed out (docs/decisions/0030-shadow-crawls.md).
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

// Whether the crawl id is in scheduled mode now.
[[nodiscard]] bool IsScheduled(const ServerContext& context, std::string_view crawl);

// The name that a URL's entry and page have in scheduled mode, whatever text and key the client
// sent: the canonical text, and the host as the key. InvalidArgument: the URL cannot be a page.
[[nodiscard]] StatusOr<FrontierName> ScheduledName(const std::string& crawl,
                                                   const std::string& url);

// The name of the page that belongs to a frontier entry with this key and text, in this mode;
// nullopt = none.
[[nodiscard]] std::optional<FrontierName> PageOfUrl(FrontierMode mode, const std::string& crawl,
                                                    std::string_view key, std::string_view url);

// The event that removes the page with this name.
[[nodiscard]] RemovePage RemovalOf(const FrontierName& name);

// These work like Frontier::Put, Pull and GiveBack, but accept URLs of all crawl ids. `done` is
// called on any thread.
//
// `reporter` is the client's identity. A known URL ends the lease of its page only if this identity
// holds the lease.
[[nodiscard]] bool PutUrls(const ServerContext& context, std::vector<FrontierPut> puts,
                           const Reporter& reporter, Frontier::PutDone done);
// Pulls URLs for the client `who`. A pull from a scheduled crawl id gets the URLs that are due
// within kPullWait, and then ends.
void PullUrls(const ServerContext& context, const std::shared_ptr<FrontierPull>& pull, size_t most,
              const PullingClient& who, Frontier::PullDone done);
// Takes back URLs that did not reach the client with this number.
void GiveBackUrls(const ServerContext& context, std::vector<FrontierServed> served,
                  uint64_t client);

// Blocks the pages of a host, as `block` says. `done` is called as soon as the division of the
// pages has the event. NotFound: the crawl id has no URL or no page of the host, and nothing is
// blocked. After any other error, it is unknown whether the division has the event.
void BlockScheduledHost(const ServerContext& context, BlockHost block,
                        std::function<void(const Status&)> done);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_SCHEDULED_CRAWLS_H_
