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
#include "tools/cli/lines.h"
#include "tools/sitemap/feed_parser.h"

namespace freshet::sitemap {

// Of a robots.txt no more is looked at, as crawlers have it.
inline constexpr size_t kMaxRobotsBytes = 500 << 10;
// URLs, together, of the documents that an index or a robots.txt names; those beyond are left.
inline constexpr size_t kMaxNamesBytes = 4 << 20;

// Where a document came from, as far as that says how to read it. Value type, thread-compatible.
struct DocumentSource {
  std::string url;      // to which what is relative refers; empty: a file
  std::string charset;  // as HTTP names it, or nothing
};

// Calls `entry` for each entry of a sitemap, index, RSS or Atom, or for each line of a list of
// URLs, and returns what it is. Its URL is absolute and without what surrounds it, unless `why`
// says why it cannot be used. InvalidArgument with the reason for what is no such document or has
// more than kMaxFeedBytes once decompressed or kMaxFeedUrlBytes of URLs, DataLoss for gzip that is
// corrupt: then entries may have been called for, so whoever wants all or nothing reads twice. An
// entry whose date cannot be read carries the error and spoils no other.
[[nodiscard]] absl::StatusOr<FeedSummary> ReadDocument(cli::ByteSource& bytes,
                                                       const DocumentSource& source,
                                                       const std::function<void(FeedEntry)>& entry);

// The same of text in pieces; `bytes` appends the next one, and is false at the end.
[[nodiscard]] absl::StatusOr<FeedSummary> ReadDocumentText(
    const TextSource& bytes, const DocumentSource& source,
    const std::function<void(FeedEntry)>& entry);

// The URLs of the lines `Sitemap:` of a robots.txt in any encoding, in their order, at most `most`,
// and none behind the one that comes to more than kMaxNamesBytes; those that are relative are of
// `base`.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> SitemapsOfRobots(const TextSource& bytes,
                                                                        const std::string& base,
                                                                        size_t most);

// "sitemap", "index", "RSS", "Atom" or "text".
[[nodiscard]] std::string_view NameOf(FeedKind kind);

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_DOCUMENT_H_
