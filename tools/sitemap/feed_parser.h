// Parses sitemaps, indexes of sitemaps, RSS feeds and Atom feeds as streams. Memory does not grow
// with the size of the document.
#ifndef FRESHET_TOOLS_SITEMAP_FEED_PARSER_H_
#define FRESHET_TOOLS_SITEMAP_FEED_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/sitemap/feed_date.h"
#include "tools/sitemap/markup_mender.h"

namespace freshet::sitemap {

// Limits of the sitemap protocol, which are enough for any feed.
inline constexpr size_t kMaxFeedBytes = 50 << 20;  // once decompressed
// The maximum total size of the URLs of all entries. It is needed because a long base can turn
// short references into much text.
inline constexpr size_t kMaxFeedUrlBytes = kMaxFeedBytes;
inline constexpr uint64_t kMaxFeedEntries = 50'000;
// The maximum size of the text of one element or attribute.
inline constexpr size_t kMaxFeedTextBytes = 16 << 10;
// The maximum size of an xml:base, joined with the outer one. A longer one is ignored.
inline constexpr size_t kMaxFeedBaseBytes = 2048;
// The maximum number of elements with an xml:base. Joining two URLs takes some 100 microseconds.
inline constexpr uint64_t kMaxFeedBases = 2 * kMaxFeedEntries;
// The maximum number of undeclared prefixes. The parser reports each of them.
inline constexpr uint64_t kMaxFeedPrefixFaults = 500'000;
// The maximum number of namespaces that are declared at one place of a document.
inline constexpr int kMaxFeedNamespaces = 256;

enum class FeedKind { kUnknown, kSitemap, kIndex, kRss, kAtom, kText };

// One page of a sitemap or feed, or one sitemap of an index.
struct FeedEntry {
  FeedKind kind = FeedKind::kUnknown;
  // The URL, made absolute if possible; empty = the entry has none.
  std::string url;
  std::string why;   // why the URL cannot be used; empty = it can
  std::string site;  // SiteOfHost of the URL, if it can be used
  std::string base;  // the xml:base in effect; empty = none
  // NotFound: there is no date. InvalidArgument: the date is unreadable.
  absl::StatusOr<FeedDate> modified = absl::NotFoundError("no lastmod");
  std::optional<double> priority;  // 0 to 1, only in sitemaps; unset if unreadable
};

// The properties of a document apart from its entries.
struct FeedSummary {
  FeedKind kind = FeedKind::kUnknown;
  uint64_t mended = 0;  // faults in the XML that were mended
};

// Appends the next part of the text to the string. Returns false at the end.
using TextSource = std::function<absl::StatusOr<bool>(std::string*)>;

// Calls `take` for each entry in order. Ill-formed text is mended first (MarkupMender), and text
// after the root element is ignored. The URL of an entry depends on the kind of document. In a
// sitemap, it is the first <loc> of the document's own namespace. In RSS, it is the <link>, or else
// a guid that is a permalink. In Atom, it is the alternate that is HTML, or else one without a
// type, or else any.
//
// InvalidArgument, with a reason that can be shown to users: it is another kind of document, the
// text is not XML or is cut off, or a limit on depth, length or number of entries is exceeded.
// Errors of `source` are returned, too. An error can come after some entries. The text must be
// clean UTF-8 (TextDecoder). Thread-safe.
[[nodiscard]] absl::StatusOr<FeedSummary> ReadFeed(const TextSource& source,
                                                   const std::function<void(FeedEntry)>& take);

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_FEED_PARSER_H_
