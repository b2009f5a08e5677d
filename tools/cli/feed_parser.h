// Sitemaps, indexes of sitemaps, RSS and Atom, read as a stream: memory does not grow with the
// document.
#ifndef FRESHET_TOOLS_CLI_FEED_PARSER_H_
#define FRESHET_TOOLS_CLI_FEED_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/timestamp.pb.h"

namespace freshet::cli {

// What the protocol of sitemaps allows, and enough for any feed.
inline constexpr size_t kMaxFeedBytes = 50 << 20;  // once decompressed
inline constexpr uint64_t kMaxFeedEntries = 50'000;
inline constexpr int kMaxFeedDepth = 64;
// Of the text of one element or attribute that is of interest.
inline constexpr size_t kMaxFeedTextBytes = 16 << 10;
// Of a comment, a tag and the like, which the parser looks at from its beginning with each piece.
inline constexpr size_t kMaxFeedTokenBytes = 512 << 10;

enum class FeedKind { kUnknown, kSitemap, kIndex, kRss, kAtom };

// One page of a sitemap or feed, or one sitemap of an index.
struct FeedEntry {
  std::string url;
  // NotFound: it has no date. InvalidArgument: one that cannot be read.
  absl::StatusOr<google::protobuf::Timestamp> modified = absl::NotFoundError("no lastmod");
  std::optional<double> priority;  // 0 to 1, of a sitemap; one that cannot be read is none
};

// A date as RSS has it, such as "Tue, 10 Jun 2003 04:00:00 GMT"; a zone is a number or one of those
// that RFC 822 names.
[[nodiscard]] absl::StatusOr<google::protobuf::Timestamp> ParseRssDate(std::string_view text);

// Owner thread only.
class FeedParser {
 public:
  // `entry` is called for each entry with a URL, in their order.
  explicit FeedParser(std::function<void(FeedEntry)> entry);
  ~FeedParser();
  FeedParser(const FeedParser&) = delete;
  FeedParser& operator=(const FeedParser&) = delete;

  // The next bytes. InvalidArgument, from then on, with a reason that can be shown: for what is no
  // XML or another document, declares entities, or is deeper, longer or has more entries than is
  // allowed.
  [[nodiscard]] absl::Status Feed(std::string_view bytes);
  // The document ends here. InvalidArgument when it should not.
  [[nodiscard]] absl::Status Finish();
  [[nodiscard]] FeedKind kind() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_FEED_PARSER_H_
