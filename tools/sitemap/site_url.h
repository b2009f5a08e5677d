// The parts of a URL that decide whether a document is fetched, and for whom it may speak.
#ifndef FRESHET_TOOLS_SITEMAP_SITE_URL_H_
#define FRESHET_TOOLS_SITEMAP_SITE_URL_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace freshet::sitemap {

// Value type, thread-compatible.
struct SiteUrl {
  std::string text;      // the whole, without fragment
  std::string origin;    // scheme, host and port, without a slash at the end
  std::string host;      // in lower case, without port; IPv6 in brackets, other names in ASCII
  bool is_root = false;  // names the site alone: no path, no query
};

// InvalidArgument, with a reason that can be shown, for what is no absolute http or https URL or
// has a user name. Thread-safe.
[[nodiscard]] absl::StatusOr<SiteUrl> ParseSiteUrl(const std::string& text);

// Whether it begins with a scheme.
[[nodiscard]] bool IsAbsoluteUrl(std::string_view text);

// What a reference means in a document whose URL is `base`, which may be none, and then is left as
// it is; as RFC 3986 has it. A base or reference that is none gives the reference. Thread-safe.
[[nodiscard]] std::string JoinUrls(const std::string& base, const std::string& reference);

// Without what surrounds a URL that was copied from somewhere: white space of any alphabet, byte
// order marks, marks of direction and width. Thread-safe.
[[nodiscard]] std::string_view WithoutMarks(std::string_view url);

// One name for www.example.org and example.org, which are of one site: who has a name decides what
// www below it is. In lower case, without port. Thread-safe.
[[nodiscard]] std::string SiteOfHost(std::string_view host);

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_SITE_URL_H_
