// Sitemaps and feeds as sources of change signals.
#ifndef FRESHET_TOOLS_CLI_SITEMAP_H_
#define FRESHET_TOOLS_CLI_SITEMAP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/sitemap/feed_parser.h"

namespace freshet::cli {

// Reads the entries of a sitemap, RSS or Atom in a file, plain or compressed with gzip; "-" means
// the descriptor `input`. Reads a stream, and keeps only the entries. NotFound: the file cannot be
// opened. DataLoss: the file cannot be read. InvalidArgument with the reason: another kind of
// document (even an index of sitemaps), or more than kMaxFeedBytes once decompressed. An entry with
// an unreadable date carries the error, and one with an unusable URL the reason; neither spoils
// other entries.
[[nodiscard]] absl::StatusOr<std::vector<sitemap::FeedEntry>> ReadSitemap(const std::string& path,
                                                                          int input);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_SITEMAP_H_
