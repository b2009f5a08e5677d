// Sitemaps, indexes, RSS and Atom: any bytes are read or refused with a reason, in the same way
// however they are cut into pieces, and what is read keeps to its bounds. The sites of its URLs,
// and dates as RSS has them, besides.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "tools/cli/feed_parser.h"
#include "tools/sitemap/site_url.h"

namespace freshet {
namespace {

struct Reading {
  std::vector<std::string> urls;
  cli::FeedKind kind = cli::FeedKind::kUnknown;
  bool good = false;
};

Reading Read(std::string_view document, size_t piece) {
  Reading reading;
  cli::FeedParser parser([&](const cli::FeedEntry& entry) {
    CHECK(!entry.url.empty() && entry.url.size() <= cli::kMaxFeedTextBytes, "{} bytes of URL",
          entry.url.size());
    CHECK(!entry.priority || (*entry.priority >= 0 && *entry.priority <= 1), "priority {}",
          *entry.priority);
    CHECK(entry.modified.ok() || !entry.modified.status().message().empty(), "no reason");
    reading.urls.push_back(entry.url);
  });
  absl::Status status;
  for (size_t i = 0; status.ok() && i < document.size(); i += piece) {
    status = parser.Feed(document.substr(i, piece));
  }
  if (status.ok()) status = parser.Finish();
  CHECK(status.ok() || !status.message().empty(), "no reason");
  reading.good = status.ok();
  reading.kind = parser.kind();
  return reading;
}

}  // namespace
}  // namespace freshet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using freshet::Read;
  const std::string_view document(reinterpret_cast<const char*>(data), size);
  const freshet::Reading whole = Read(document, size + 1);
  CHECK(!whole.good || whole.kind != freshet::cli::FeedKind::kUnknown, "read, and of no kind");
  const freshet::Reading pieces = Read(document, 7);
  CHECK(whole.good == pieces.good && (!whole.good || whole.urls == pieces.urls),
        "{} entries as a whole, {} in pieces", whole.urls.size(), pieces.urls.size());
  for (const std::string& url : whole.urls) {
    const auto site = freshet::sitemap::ParseSiteUrl(url);
    if (!site.ok()) continue;
    const auto again = freshet::sitemap::ParseSiteUrl(site->text);
    CHECK(again.ok() && again->host == site->host, "'{}' is of another site the second time", url);
  }
  (void)freshet::cli::ParseRssDate(document);
  return 0;
}
