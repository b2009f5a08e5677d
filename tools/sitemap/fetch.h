// Fetches a document of a site. Anyone may have named its URL: allows only http and https, limits
// the size, and never connects to an address that the author of the URL could not have reached.
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

// Received bytes; decompressed ones have another limit (tools/sitemap/document.h).
inline constexpr size_t kMaxFetchedBytes = 50 << 20;
inline constexpr size_t kMaxHeaderBytes = 64 << 10;
inline constexpr int kMaxRedirects = 5;
// Longest URL that is fetched, as in the sitemap protocol.
inline constexpr size_t kMaxDocumentUrlBytes = 2048;
// Longer ETags and dates are not kept.
inline constexpr size_t kMaxValidatorBytes = 1024;
// Longest wait that a site may ask for.
inline constexpr Duration kMaxRetryAfter = Duration::Days(1);

// Settings for all fetches of a program. Value type, thread-compatible.
struct FetchOptions {
  std::string user_agent;
  std::string ca_file;  // PEM file of authorities for sites; empty = the system's
  Duration connect_timeout = Duration::Seconds(10);
  Duration timeout = Duration::Seconds(60);  // for the whole fetch, redirects included
  // Whether anyone on the internet can reach an address.
  bool (*is_public)(const IpAddress&) = IsPublicAddress;
  // Called repeatedly; true ends the fetch.
  std::function<bool()> cancelled = [] { return false; };
};

// The document to fetch, and the conditions for it. Value type, thread-compatible.
struct FetchRequest {
  std::string url;
  // Set if a public site named the URL: then it may lead only to public addresses.
  bool only_public = false;
  // Validators of the last fetch, to ask whether the document has changed; or nothing.
  std::string etag;
  std::string last_modified;
  // Returns why a redirect must not be followed; empty = it may be. Called before each, if set.
  std::function<std::string(const std::string& from, const std::string& to)> why_not;
};

// The outcome of a fetch, without the document itself. Value type, thread-compatible.
struct FetchResult {
  enum class Outcome {
    kFetched,      // status 200
    kNotModified,  // unchanged since the validators came
    kNotThere,     // status 404 or 410
    kRefused,      // by this client: because of URL, target or size
    kFailed,       // the site does not answer, or answers otherwise
  };
  Outcome outcome = Outcome::kFailed;
  std::string why;  // why the document was neither fetched nor unchanged; can be shown
  std::string url;  // URL after all redirects
  int status = 0;   // last HTTP status; 0 = no answer
  bool too_many_redirects = false;
  std::string charset;       // charset of Content-Type, or nothing
  Duration elapsed;          // until the last answer or failure
  bool from_public = false;  // some address of the chain is public
  bool site_public = false;  // the first site has a public address
  std::string etag;
  std::string last_modified;
  std::optional<Duration> retry_after;  // the site's request with 429 and 503
};

// Follows up to kMaxRedirects redirects. Refuses a redirect from a public address to one that is
// not, and all such addresses if the request says so. Connects to the very address that was
// checked. Keeps the document as received, perhaps compressed with gzip; an answer with any other
// compression fails. Uses no proxy of the environment, since that would connect by itself. `body`
// has the document only if fetched. Thread-safe.
[[nodiscard]] FetchResult Fetch(const FetchRequest& request, const FetchOptions& options,
                                Spool& body);

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_FETCH_H_
