// Tests sitemaps, indexes, RSS, Atom and URL lists in any encoding, and the sites of their URLs.
// Any bytes are read, or refused with a reason, however they are cut into pieces. Entries stay
// within their limits. Repaired text is well-formed.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "core/base/check.h"
#include "tools/sitemap/document.h"
#include "tools/sitemap/markup_mender.h"
#include "tools/sitemap/site_url.h"

namespace freshet::sitemap {
namespace {

struct Reading {
  std::vector<std::string> urls;
  FeedKind kind = FeedKind::kUnknown;
  uint64_t mended = 0;
  std::string refusal;  // empty = not refused
};

Reading Read(std::string_view document, size_t piece) {
  Reading reading;
  size_t at = 0;
  const auto summary = ReadDocumentText(
      [&](std::string* out) -> absl::StatusOr<bool> {
        if (at >= document.size()) return false;
        out->append(document.substr(at, piece));
        at += piece;
        return true;
      },
      {.url = "http://a.test/feeds/map.xml"},
      [&](const FeedEntry& entry) {
        CHECK(entry.url.size() <= 4 * kMaxFeedTextBytes, "{} bytes of URL", entry.url.size());
        CHECK(!entry.priority || (*entry.priority >= 0 && *entry.priority <= 1), "priority {}",
              *entry.priority);
        CHECK(entry.modified.ok() || !entry.modified.status().message().empty(), "no reason");
        CHECK(entry.url.empty() || !entry.why.empty() || ParseSiteUrl(entry.url).ok(),
              "'{}' is said to be a URL", entry.url);
        reading.urls.push_back(entry.url);
      });
  if (summary.ok()) {
    reading.kind = summary->kind;
    reading.mended = summary->mended;
    CHECK(reading.kind != FeedKind::kUnknown, "read, and of no kind");
  } else {
    reading.refusal = std::string(summary.status().message());
    CHECK(!reading.refusal.empty(), "no reason");
    // The XML parser may complain about repaired text only for open elements.
    CHECK(!absl::StrContains(reading.refusal, "cut off: ") ||
              absl::StrContains(reading.refusal, "cut off: Premature end of data"),
          "mended, and not well-formed: {}", reading.refusal);
  }
  return reading;
}

}  // namespace
}  // namespace freshet::sitemap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using freshet::sitemap::ParseSiteUrl;
  using freshet::sitemap::Read;
  const std::string_view document(reinterpret_cast<const char*>(data), size);
  const freshet::sitemap::Reading whole = Read(document, size + 1);
  const freshet::sitemap::Reading pieces = Read(document, 7);
  CHECK(whole.refusal == pieces.refusal, "'{}' as a whole, '{}' in pieces", whole.refusal,
        pieces.refusal);
  CHECK(!whole.refusal.empty() || (whole.urls == pieces.urls && whole.mended == pieces.mended),
        "{} entries as a whole, {} in pieces", whole.urls.size(), pieces.urls.size());
  for (const std::string& url : whole.urls) {
    const auto site = ParseSiteUrl(url);
    if (!site.ok()) continue;
    const auto again = ParseSiteUrl(site->text);
    CHECK(again.ok() && again->host == site->host, "'{}' is of another site the second time", url);
  }
  return 0;
}
