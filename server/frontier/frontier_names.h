// What the crawl-frontier API makes of names: the crawl id that is meant when there is none, and
// the queue of a URL that comes without one.
#ifndef FRESHET_SERVER_FRONTIER_FRONTIER_NAMES_H_
#define FRESHET_SERVER_FRONTIER_FRONTIER_NAMES_H_

#include <string_view>

namespace freshet {

inline constexpr std::string_view kDefaultFrontierCrawl = "DEFAULT";

// `crawl`, or that of those who name none: empty and blank names. Thread-safe.
[[nodiscard]] std::string_view FrontierCrawlName(std::string_view crawl);

// The host of a URL, cut out of its text: what follows "://", and a user with '@' if there is one,
// up to a port, path or query. An address in brackets is kept with them. Empty: there is none.
// Letters stay as they are. Thread-safe.
[[nodiscard]] std::string_view FrontierHostOf(std::string_view url);

// Whether a crawl id or key is short enough: at most 255 characters. Thread-safe.
[[nodiscard]] bool IsFrontierName(std::string_view name);

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_NAMES_H_
