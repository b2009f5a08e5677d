// Sitemaps, indexes of sitemaps, RSS and Atom, read as a stream: memory does not grow with the
// document.
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

// What the protocol of sitemaps allows, and enough for any feed.
inline constexpr size_t kMaxFeedBytes = 50 << 20;  // once decompressed
// Of the URLs of all entries together: a base makes much of little.
inline constexpr size_t kMaxFeedUrlBytes = kMaxFeedBytes;
inline constexpr uint64_t kMaxFeedEntries = 50'000;
// Of the text of one element or attribute that is of interest.
inline constexpr size_t kMaxFeedTextBytes = 16 << 10;
// An xml:base, and what it makes of the one around it; a longer one counts for nothing.
inline constexpr size_t kMaxFeedBaseBytes = 2048;
// Prefixes that are not declared, of which each is told.
inline constexpr uint64_t kMaxFeedPrefixFaults = 500'000;
// Namespaces that are declared at one place of a document.
inline constexpr int kMaxFeedNamespaces = 256;

enum class FeedKind { kUnknown, kSitemap, kIndex, kRss, kAtom, kText };

// One page of a sitemap or feed, or one sitemap of an index.
struct FeedEntry {
  FeedKind kind = FeedKind::kUnknown;
  // As it is written, absolute if it can be; empty: the entry names none.
  std::string url;
  std::string why;   // it cannot be used, or nothing
  std::string site;  // of the URL (SiteOfHost), if it can be used
  std::string base;  // by xml:base, or nothing
  // NotFound: it has no date. InvalidArgument: one that cannot be read.
  absl::StatusOr<FeedDate> modified = absl::NotFoundError("no lastmod");
  std::optional<double> priority;  // 0 to 1, of a sitemap; one that cannot be read is none
};

// What a document came to besides its entries.
struct FeedSummary {
  FeedKind kind = FeedKind::kUnknown;
  uint64_t mended = 0;  // faults of what is no good XML, and was read all the same
};

// Appends the next part of the text to the string; false at the end.
using TextSource = std::function<absl::StatusOr<bool>(std::string*)>;

// Calls `take` for each entry in its order. What is not well-formed is mended first (MarkupMender),
// and what is behind the root passed over. The URL of an entry is the first <loc> of the document's
// own namespace; <link>, else a guid that is a permalink; the alternate that is HTML, else one that
// does not say what it is, else any.
//
// InvalidArgument with a reason that can be shown for what is no XML or another document, is cut
// off, is deeper, longer or has more entries than is allowed; and the errors of `source`. Then
// entries may have been called for. The text is clean UTF-8 (TextDecoder). Thread-safe.
[[nodiscard]] absl::StatusOr<FeedSummary> ReadFeed(const TextSource& source,
                                                   const std::function<void(FeedEntry)>& take);

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_FEED_PARSER_H_
