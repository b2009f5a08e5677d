// Sitemaps and feeds as sources of change signals.
#ifndef FRESHET_TOOLS_CLI_SITEMAP_H_
#define FRESHET_TOOLS_CLI_SITEMAP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/sitemap/feed_parser.h"

namespace freshet::cli {

// Reads the entries of a sitemap, RSS feed or Atom feed. The file can be compressed with gzip; "-"
// means the descriptor `input`. Only the entries are kept in memory. NotFound: the file cannot be
// opened. DataLoss: the file cannot be read. InvalidArgument, with the reason: it is another kind
// of document (even an index of sitemaps), or it has more than kMaxFeedBytes when decompressed. If
// the date of an entry is unreadable, or its URL unusable, the entry says why, and all other
// entries are read.
[[nodiscard]] absl::StatusOr<std::vector<sitemap::FeedEntry>> ReadSitemap(const std::string& path,
                                                                          int input);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_SITEMAP_H_
