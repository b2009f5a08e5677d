#include "tools/cli/sitemap.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "tools/cli/lines.h"

namespace freshet::cli {

absl::StatusOr<std::vector<FeedEntry>> ReadSitemap(const std::string& path, int input) {
  std::unique_ptr<ByteSource> bytes;
  if (path == "-") {
    bytes = ByteSource::FromDescriptor(input);
  } else {
    absl::StatusOr<std::unique_ptr<ByteSource>> opened = ByteSource::Open(path);
    if (!opened.ok()) return opened.status();
    bytes = *std::move(opened);
  }
  std::vector<FeedEntry> entries;
  FeedParser parser([&entries](FeedEntry entry) { entries.push_back(std::move(entry)); });
  std::string part;
  size_t read = 0;
  while (true) {
    part.clear();
    const absl::StatusOr<bool> more = bytes->Read(&part);
    if (!more.ok()) return more.status();
    if (!*more) break;
    read += part.size();
    if (read > kMaxFeedBytes) {
      return absl::InvalidArgumentError(
          fmt::format("larger than {} MiB, when decompressed; no sitemap is", kMaxFeedBytes >> 20));
    }
    const absl::Status status = parser.Feed(part);
    if (!status.ok()) return status;
    if (parser.kind() == FeedKind::kIndex) {
      return absl::InvalidArgumentError("an index of sitemaps: give the sitemaps it names");
    }
  }
  const absl::Status status = parser.Finish();
  if (!status.ok()) return status;
  return entries;
}

}  // namespace freshet::cli
