// Parses sitemaps, indexes of sitemaps, RSS and Atom as a stream: memory does not grow with the
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

// The limits of the sitemap protocol, enough for any feed.
inline constexpr size_t kMaxFeedBytes = 50 << 20;  // once decompressed
// URLs of all entries together: a long base can turn short references into much text.
inline constexpr size_t kMaxFeedUrlBytes = kMaxFeedBytes;
inline constexpr uint64_t kMaxFeedEntries = 50'000;
// Text of one element or attribute.
inline constexpr size_t kMaxFeedTextBytes = 16 << 10;
// An xml:base, joined with the outer one; a longer one is ignored.
inline constexpr size_t kMaxFeedBaseBytes = 2048;
// Undeclared prefixes; the parser reports each.
inline constexpr uint64_t kMaxFeedPrefixFaults = 500'000;
// Namespaces declared at one place of a document.
inline constexpr int kMaxFeedNamespaces = 256;

enum class FeedKind { kUnknown, kSitemap, kIndex, kRss, kAtom, kText };

// One page of a sitemap or feed, or one sitemap of an index.
struct FeedEntry {
  FeedKind kind = FeedKind::kUnknown;
  // The URL, made absolute if possible; empty = the entry has none.
  std::string url;
  std::string why;   // why the URL cannot be used, or nothing
  std::string site;  // SiteOfHost of the URL, if it can be used
  std::string base;  // xml:base in force, or nothing
  // NotFound: there is no date. InvalidArgument: the date is unreadable.
  absl::StatusOr<FeedDate> modified = absl::NotFoundError("no lastmod");
  std::optional<double> priority;  // 0 to 1, only in sitemaps; unset if unreadable
};

// Facts about a document other than its entries.
struct FeedSummary {
  FeedKind kind = FeedKind::kUnknown;
  uint64_t mended = 0;  // faults of bad XML that was read nevertheless
};

// Appends the next part of the text to the string; false at the end.
using TextSource = std::function<absl::StatusOr<bool>(std::string*)>;

// Calls `take` for each entry in order. Mends ill-formed text first (MarkupMender), and ignores
// text after the root. The URL of an entry is the first <loc> of the document's own namespace;
// <link>, else a guid that is a permalink; the alternate that is HTML, else one without a type,
// else any.
//
// InvalidArgument, with a reason that can be shown: another kind of document, text that is not XML
// or cut off, or too much depth, length or number of entries. Returns errors of `source` too. An
// error may come after some entries. The text is clean UTF-8 (TextDecoder). Thread-safe.
[[nodiscard]] absl::StatusOr<FeedSummary> ReadFeed(const TextSource& source,
                                                   const std::function<void(FeedEntry)>& take);

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_FEED_PARSER_H_
