// The parts of a URL that decide whether a document is fetched, and for whom it may speak.
#ifndef FRESHET_TOOLS_SITEMAP_SITE_URL_H_
#define FRESHET_TOOLS_SITEMAP_SITE_URL_H_

#include <string>

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

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_SITE_URL_H_
