// Sitemaps as sources of change signals.
#ifndef FRESHET_TOOLS_CLI_SITEMAP_H_
#define FRESHET_TOOLS_CLI_SITEMAP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/timestamp.pb.h"

namespace freshet::cli {

// One page of a sitemap.
struct SitemapEntry {
  uint64_t number = 0;  // position in the sitemap, from 1
  std::string url;
  // What the sitemap says about the last change; unset if it says nothing.
  absl::StatusOr<google::protobuf::Timestamp> last_modified = absl::NotFoundError("no lastmod");
};

// The entries of a sitemap (sitemaps.org, XML), whatever prefix its namespace has. InvalidArgument
// for what is no such document, with the reason; an index of sitemaps is none. An entry whose
// lastmod cannot be read carries the error and spoils no other.
[[nodiscard]] absl::StatusOr<std::vector<SitemapEntry>> ParseSitemap(const std::string& xml);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_SITEMAP_H_
