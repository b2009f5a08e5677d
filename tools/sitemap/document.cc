#include "tools/sitemap/document.h"

#include <fmt/format.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "core/base/status.h"

namespace freshet::sitemap {

absl::StatusOr<cli::FeedKind> ReadDocument(cli::ByteSource& bytes,
                                           std::function<void(cli::FeedEntry)> entry) {
  cli::FeedParser parser(std::move(entry));
  std::string part;
  size_t read = 0;
  while (true) {
    part.clear();
    const absl::StatusOr<bool> more = bytes.Read(&part);
    RETURN_IF_ERROR(more.status());
    if (!*more) break;
    read += part.size();
    if (read > cli::kMaxFeedBytes) {
      return absl::InvalidArgumentError(fmt::format(
          "larger than {} MiB, when decompressed; no sitemap is", cli::kMaxFeedBytes >> 20));
    }
    RETURN_IF_ERROR(parser.Feed(part));
  }
  RETURN_IF_ERROR(parser.Finish());
  return parser.kind();
}

absl::StatusOr<std::vector<std::string>> SitemapsOfRobots(cli::ByteSource& bytes, size_t most) {
  std::string text;
  while (text.size() < kMaxRobotsBytes) {
    const absl::StatusOr<bool> more = bytes.Read(&text);
    RETURN_IF_ERROR(more.status());
    if (!*more) break;
  }
  std::string_view rest = std::string_view(text).substr(0, kMaxRobotsBytes);
  std::vector<std::string> urls;
  while (!rest.empty() && urls.size() < most) {
    const size_t end = rest.find_first_of("\r\n");
    const std::string line(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string name(absl::StripAsciiWhitespace(line.substr(0, colon)));
    if (!absl::EqualsIgnoreCase(name, "sitemap")) continue;
    // A comment needs white space before it: '#' alone may belong to the URL.
    std::string url(absl::StripAsciiWhitespace(line.substr(colon + 1)));
    url.resize(std::min(url.size(), url.find_first_of(" \t")));
    if (!url.empty()) urls.push_back(std::move(url));
  }
  return urls;
}

std::string_view NameOf(cli::FeedKind kind) {
  switch (kind) {
    case cli::FeedKind::kSitemap:
      return "sitemap";
    case cli::FeedKind::kIndex:
      return "index";
    case cli::FeedKind::kRss:
      return "RSS";
    case cli::FeedKind::kAtom:
      return "Atom";
    case cli::FeedKind::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace freshet::sitemap
