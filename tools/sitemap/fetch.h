// Fetches a document of a site, whoever says where it is: over http and https alone, never from an
// address that the one who named it could not have reached, and never much.
#ifndef FRESHET_TOOLS_SITEMAP_FETCH_H_
#define FRESHET_TOOLS_SITEMAP_FETCH_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "core/base/ip_address.h"
#include "core/base/public_address.h"
#include "core/base/units.h"
#include "tools/sitemap/spool.h"

namespace freshet::sitemap {

// As it comes. What a gzip file decompresses to has a cap of its own
// (tools/sitemap/document.h).
inline constexpr size_t kMaxFetchedBytes = 50 << 20;
inline constexpr size_t kMaxHeaderBytes = 64 << 10;
inline constexpr int kMaxRedirects = 5;
// Longest URL that is fetched: that of the protocol of sitemaps.
inline constexpr size_t kMaxDocumentUrlBytes = 2048;
// Longer ETags and dates are not kept.
inline constexpr size_t kMaxValidatorBytes = 1024;
// A site that asks for longer is asked again after this.
inline constexpr Duration kMaxRetryAfter = Duration::Days(1);

struct FetchOptions {
  std::string user_agent;
  std::string ca_file;  // PEM of who signs the certificates of sites; empty: whom the system trusts
  Duration connect_timeout = Duration::Seconds(10);
  Duration timeout = Duration::Seconds(60);  // of the whole, redirects included
  // Whether an address is one that anybody can reach.
  bool (*is_public)(const IpAddress&) = IsPublicAddress;
  // Asked now and then; true ends the fetch.
  std::function<bool()> cancelled = [] { return false; };
};

struct FetchRequest {
  std::string url;
  // Whoever named the URL is on the public internet, so it may not lead anywhere else.
  bool only_public = false;
  // What came with the document the last time, to ask whether it has changed; or nothing.
  std::string etag;
  std::string last_modified;
  // Asked before a redirect is followed, if set: why it is not to be; empty: it is.
  std::function<std::string(const std::string& from, const std::string& to)> why_not;
};

struct FetchResult {
  enum class Outcome {
    kFetched,      // with status 200
    kNotModified,  // it is what it was when the validators came
    kNotThere,     // the site says so: 404 or 410
    kRefused,      // by us: the URL, where it leads, or the size
    kFailed,       // the site does not answer, or answers something else
  };
  Outcome outcome = Outcome::kFailed;
  std::string why;  // neither fetched nor not modified; can be shown
  std::string url;  // where it came from in the end
  int status = 0;   // of HTTP, in the end; 0: nothing has answered
  bool too_many_redirects = false;
  std::string charset;       // as Content-Type names it, or nothing
  Duration elapsed;          // until the site had answered or failed to
  bool from_public = false;  // an address on the way to it is public
  bool site_public = false;  // the site that was asked first is
  std::string etag;
  std::string last_modified;
  std::optional<Duration> retry_after;  // what the site asks for with 429 and 503
};

// Follows up to kMaxRedirects redirects; one that leads from a public address to one that is not is
// refused, and so is every such address if the request says so: each connection goes to the very
// address that was checked. The document is kept as it comes: compressed by gzip, if the site does
// so; an answer that says it is compressed by anything else fails. No proxy of the environment is
// used, as it would connect by itself. `body` is the document when fetched, and anything else
// otherwise. Thread-safe.
[[nodiscard]] FetchResult Fetch(const FetchRequest& request, const FetchOptions& options,
                                Spool& body);

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_FETCH_H_
