// Reads a document of a site: as a stream, as a whole or not at all.
#ifndef FRESHET_TOOLS_SITEMAP_DOCUMENT_H_
#define FRESHET_TOOLS_SITEMAP_DOCUMENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/cli/feed_parser.h"
#include "tools/cli/lines.h"

namespace freshet::sitemap {

// Of a robots.txt no more is looked at, as crawlers have it.
inline constexpr size_t kMaxRobotsBytes = 500 << 10;

// Calls `entry` for each entry of a sitemap, index, RSS or Atom, and returns which it is.
// InvalidArgument with the reason for what is no such document or has more than
// cli::kMaxFeedBytes once decompressed, DataLoss for gzip that is corrupt: then entries may have
// been called for, so whoever wants all or nothing reads twice. An entry whose date cannot be read
// carries the error and spoils no other.
[[nodiscard]] absl::StatusOr<cli::FeedKind> ReadDocument(cli::ByteSource& bytes,
                                                         std::function<void(cli::FeedEntry)> entry);

// The URLs of the lines `Sitemap:` of a robots.txt, in their order, at most `most`.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> SitemapsOfRobots(cli::ByteSource& bytes,
                                                                        size_t most);

// "sitemap", "index", "RSS" or "Atom".
[[nodiscard]] std::string_view NameOf(cli::FeedKind kind);

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_DOCUMENT_H_
