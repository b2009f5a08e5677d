// Sitemaps and feeds as sources of change signals.
#ifndef FRESHET_TOOLS_CLI_SITEMAP_H_
#define FRESHET_TOOLS_CLI_SITEMAP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/sitemap/feed_parser.h"

namespace freshet::cli {

// The entries of a sitemap, RSS or Atom in a file, plain or compressed by gzip; "-" is the
// descriptor `input`. Read as a stream: only the entries are kept. NotFound for a file that cannot
// be opened, DataLoss for one that cannot be read, InvalidArgument with the reason for what is no
// such document (an index of sitemaps is none) or has more than kMaxFeedBytes once decompressed. An
// entry whose date cannot be read carries the error and spoils no other, and one whose URL cannot
// be used why.
[[nodiscard]] absl::StatusOr<std::vector<sitemap::FeedEntry>> ReadSitemap(const std::string& path,
                                                                          int input);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_SITEMAP_H_
