// Reads the documents of sites.
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

// The maximum number of bytes of a robots.txt that are read, which is the usual limit of crawlers.
inline constexpr size_t kMaxRobotsBytes = 500 << 10;
// The maximum total size of the document URLs taken from one index or robots.txt, in bytes. Further
// URLs are ignored.
inline constexpr size_t kMaxNamesBytes = 4 << 20;

// The properties of a document's source that reading depends on. Value type, thread-compatible.
struct DocumentSource {
  std::string url;      // base of relative URLs; empty = a file
  std::string charset;  // charset of the HTTP header; empty = none
};

// Calls `entry` for each entry of a sitemap, index, RSS or Atom feed, or for each line of a list of
// URLs, and returns the summary. The URL of an entry is absolute and trimmed; if it cannot be used,
// `why` gives the reason. An unreadable date is an error of its entry only. InvalidArgument, with
// the reason: another kind of document, more than kMaxFeedBytes once decompressed, or more than
// kMaxFeedUrlBytes of URLs. DataLoss: corrupt gzip. An error can come after some entries, so a
// caller that wants all entries or none reads the document twice.
[[nodiscard]] absl::StatusOr<FeedSummary> ReadDocument(cli::ByteSource& bytes,
                                                       const DocumentSource& source,
                                                       const std::function<void(FeedEntry)>& entry);

// Does the same for text in pieces. Each call of `bytes` appends the next piece, and returns false
// at the end.
[[nodiscard]] absl::StatusOr<FeedSummary> ReadDocumentText(
    const TextSource& bytes, const DocumentSource& source,
    const std::function<void(FeedEntry)>& entry);

// Returns the URLs in the `Sitemap:` lines of a robots.txt in any encoding, in order, at most
// `most`. Stops at the URL that exceeds kMaxNamesBytes. Relative URLs are joined to `base`.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> SitemapsOfRobots(const TextSource& bytes,
                                                                        const std::string& base,
                                                                        size_t most);

// Returns "sitemap", "index", "RSS", "Atom" or "text".
[[nodiscard]] std::string_view NameOf(FeedKind kind);

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_DOCUMENT_H_
