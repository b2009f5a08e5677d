#include "tools/cli/sitemap.h"

#include <memory>
#include <utility>

#include "tools/cli/lines.h"
#include "tools/sitemap/document.h"

namespace freshet::cli {

absl::StatusOr<std::vector<sitemap::FeedEntry>> ReadSitemap(const std::string& path, int input) {
  std::unique_ptr<ByteSource> bytes;
  if (path == "-") {
    bytes = ByteSource::FromDescriptor(input);
  } else {
    absl::StatusOr<std::unique_ptr<ByteSource>> opened = ByteSource::Open(path);
    if (!opened.ok()) return opened.status();
    bytes = *std::move(opened);
  }
  std::vector<sitemap::FeedEntry> entries;
  const absl::StatusOr<sitemap::FeedSummary> summary = sitemap::ReadDocument(
      *bytes, {}, [&entries](sitemap::FeedEntry entry) { entries.push_back(std::move(entry)); });
  if (!summary.ok()) return summary.status();
  if (summary->kind == sitemap::FeedKind::kIndex) {
    return absl::InvalidArgumentError(
        "an index of sitemaps: give the sitemaps it names, or see `freshet sitemap`");
  }
  return entries;
}

}  // namespace freshet::cli
