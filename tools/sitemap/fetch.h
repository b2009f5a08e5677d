// Fetches a document of a site. Its URL can come from anyone, so only http and https are allowed,
// the size is limited, and the fetcher never connects to an address that the author of the URL
// could not have reached.
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

// The maximum number of received bytes. Decompressed bytes have another limit
// (tools/sitemap/document.h).
inline constexpr size_t kMaxFetchedBytes = 50 << 20;
inline constexpr size_t kMaxHeaderBytes = 64 << 10;
inline constexpr int kMaxRedirects = 5;
// The maximum length of a URL that is fetched, which is the limit of the sitemap protocol.
inline constexpr size_t kMaxDocumentUrlBytes = 2048;
// The maximum length of an ETag or a date. Longer ones are not kept.
inline constexpr size_t kMaxValidatorBytes = 1024;
// The longest wait that a site can ask for.
inline constexpr Duration kMaxRetryAfter = Duration::Days(1);

// Settings for all fetches of a program. Value type, thread-compatible.
struct FetchOptions {
  std::string user_agent;
  std::string ca_file;  // PEM file of authorities for sites; empty = the system's
  Duration connect_timeout = Duration::Seconds(10);
  Duration timeout = Duration::Seconds(60);  // for the whole fetch, redirects included
  // Whether anyone on the internet can reach an address.
  bool (*is_public)(const IpAddress&) = IsPublicAddress;
  // Called repeatedly. If it returns true, the fetch ends.
  std::function<bool()> cancelled = [] { return false; };
};

// The document to fetch, and the conditions for it. Value type, thread-compatible.
struct FetchRequest {
  std::string url;
  // A public site named the URL, so the fetch may only connect to public addresses.
  bool only_public = false;
  // The validators of the last fetch, with which the site can tell whether the document has
  // changed; empty = none.
  std::string etag;
  std::string last_modified;
  // If set, called before each redirect. Returns why the redirect must not be followed; empty = it
  // may be.
  std::function<std::string(const std::string& from, const std::string& to)> why_not;
};

// The outcome of a fetch, without the document itself. Value type, thread-compatible.
struct FetchResult {
  enum class Outcome {
    kFetched,      // status 200
    kNotModified,  // unchanged since the fetch that returned the validators
    kNotThere,     // status 404 or 410
    kRefused,      // by this client: because of URL, target or size
    kFailed,       // the site does not answer, or gives another answer
  };
  Outcome outcome = Outcome::kFailed;
  std::string why;  // why the document was neither fetched nor unchanged; can be shown
  std::string url;  // URL after all redirects
  int status = 0;   // last HTTP status; 0 = no answer
  bool too_many_redirects = false;
  std::string charset;       // charset of Content-Type; empty = none
  Duration elapsed;          // time until the last answer or failure
  bool from_public = false;  // some address of the chain is public
  bool site_public = false;  // the first site has a public address
  std::string etag;
  std::string last_modified;
  std::optional<Duration> retry_after;  // the site's request with 429 and 503
};

// Follows up to kMaxRedirects redirects. Refuses a redirect from a public address to one that is
// not public. If the request has only_public, refuses all addresses that are not public. The
// fetcher connects to the same address that it checked. The document is stored as received, perhaps
// compressed with gzip; any other compression is a failure. The environment's proxy is not used,
// because it would connect without these checks. `body` has the document only if the outcome is
// kFetched. Thread-safe.
[[nodiscard]] FetchResult Fetch(const FetchRequest& request, const FetchOptions& options,
                                Spool& body);

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_FETCH_H_
