// The parts of a URL that determine whether a document is fetched, and whose pages it may name.
#ifndef FRESHET_TOOLS_SITEMAP_SITE_URL_H_
#define FRESHET_TOOLS_SITEMAP_SITE_URL_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace freshet::sitemap {

// Value type, thread-compatible.
struct SiteUrl {
  std::string text;      // whole URL without fragment
  std::string origin;    // scheme, host and port, without a slash at the end
  std::string host;      // in lower case, without port; IPv6 in brackets, other names in ASCII
  bool is_root = false;  // names only the site: no path, no query
};

// Parses a URL. InvalidArgument, with a reason that can be shown to users: it is not an absolute
// http or https URL, or it has a user name. Thread-safe.
[[nodiscard]] absl::StatusOr<SiteUrl> ParseSiteUrl(const std::string& text);

// Whether the text begins with a scheme.
[[nodiscard]] bool IsAbsoluteUrl(std::string_view text);

// Resolves a reference in a document whose URL is `base` (RFC 3986). Returns the reference
// unchanged if it or the base is invalid. Thread-safe.
[[nodiscard]] std::string JoinUrls(const std::string& base, const std::string& reference);

// Removes characters that can surround a copied URL: white space of any script, byte order marks,
// and marks for direction and width. Thread-safe.
[[nodiscard]] std::string_view WithoutMarks(std::string_view url);

// Returns the name of the site of a host. www.example.org and example.org are one site, because the
// owner of a name also controls its www. In lower case, without the port. Thread-safe.
[[nodiscard]] std::string SiteOfHost(std::string_view host);

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_SITE_URL_H_
