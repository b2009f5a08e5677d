#include "server/frontier/frontier_names.h"

#include <algorithm>
#include <cstdint>

#include "server/base/frontier_limits.h"

namespace freshet {

std::string_view FrontierCrawlName(std::string_view crawl) {
  const bool blank = crawl.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
  return blank ? kDefaultFrontierCrawl : crawl;
}

std::string_view FrontierHostOf(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  std::string_view rest = url.substr(scheme + 3);
  rest = rest.substr(0, rest.find_first_of("/?&#"));
  if (const size_t user = rest.rfind('@'); user != std::string_view::npos) {
    rest.remove_prefix(user + 1);
  }
  if (rest.starts_with('[')) {
    const size_t end = rest.find(']');
    return end == std::string_view::npos ? std::string_view() : rest.substr(0, end + 1);
  }
  return rest.substr(0, rest.find(':'));
}

bool IsFrontierName(std::string_view name) {
  const auto characters = std::count_if(name.begin(), name.end(), [](char c) {
    return (static_cast<uint8_t>(c) & 0xc0) != 0x80;  // not a continuation byte of UTF-8
  });
  return static_cast<size_t>(characters) <= limits::kMaxFrontierNameCharacters;
}

}  // namespace freshet
