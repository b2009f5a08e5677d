// Tests robots.txt: any bytes give at most the requested number of sitemaps, however they are cut
// into pieces. Also tests references that are resolved against any base.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "tools/sitemap/document.h"
#include "tools/sitemap/site_url.h"

namespace freshet::sitemap {
namespace {

constexpr size_t kMost = 20;

std::vector<std::string> Sitemaps(std::string_view text, size_t piece) {
  size_t at = 0;
  const auto urls = SitemapsOfRobots(
      [&](std::string* out) -> absl::StatusOr<bool> {
        if (at >= text.size()) return false;
        out->append(text.substr(at, piece));
        at += piece;
        return true;
      },
      "https://a.test/robots.txt", kMost);
  CHECK(urls.ok(), "refused: {}", std::string(urls.status().message()));
  CHECK(urls->size() <= kMost, "{} sitemaps", urls->size());
  for (const std::string& url : *urls) CHECK(!url.empty(), "no URL");
  return *urls;
}

}  // namespace
}  // namespace freshet::sitemap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using freshet::sitemap::Sitemaps;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> whole = Sitemaps(text, size + 1);
  CHECK(whole == Sitemaps(text, 7), "{} sitemaps", whole.size());
  // A reference and its base, each on a line.
  const std::string base(text.substr(0, text.find('\n')));
  const std::string reference(text.substr(std::min(base.size() + 1, text.size())));
  const std::string joined = freshet::sitemap::JoinUrls(base, reference);
  CHECK(freshet::sitemap::JoinUrls(joined, "").size() <= 3 * joined.size() + 3, "it grows");
  const std::string_view bare = freshet::sitemap::WithoutMarks(text);
  CHECK(freshet::sitemap::WithoutMarks(bare) == bare, "marks are left");
  return 0;
}
