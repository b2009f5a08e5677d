// Default names in the crawl-frontier API: the crawl id of a call without one, and the queue of a
// URL without one.
#ifndef FRESHET_SERVER_FRONTIER_FRONTIER_NAMES_H_
#define FRESHET_SERVER_FRONTIER_FRONTIER_NAMES_H_

#include <string_view>

namespace freshet {

inline constexpr std::string_view kDefaultFrontierCrawl = "DEFAULT";

// `crawl`, or the default for empty and blank names. Thread-safe.
[[nodiscard]] std::string_view FrontierCrawlName(std::string_view crawl);

// The host of a URL, cut out of its text: from behind "://", and behind a user with '@', up to a
// port, path or query. An address in brackets keeps them. Empty = none. Letters stay as they are.
// Thread-safe.
[[nodiscard]] std::string_view FrontierHostOf(std::string_view url);

// Whether a crawl id or key is short enough: at most 255 characters. Thread-safe.
[[nodiscard]] bool IsFrontierName(std::string_view name);

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_NAMES_H_
