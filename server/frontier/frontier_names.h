// Names in the crawl-frontier API: the crawl id of a call that names none, and the queue of a URL
// that names none.
#ifndef FRESHET_SERVER_FRONTIER_FRONTIER_NAMES_H_
#define FRESHET_SERVER_FRONTIER_FRONTIER_NAMES_H_

#include <string_view>

namespace freshet {

inline constexpr std::string_view kDefaultFrontierCrawl = "DEFAULT";

// Returns `crawl`, or the default if the name is empty or blank. Thread-safe.
[[nodiscard]] std::string_view FrontierCrawlName(std::string_view crawl);

// Returns the host of a URL as a part of its text; empty = none. The host begins after "://", and
// after a user with '@' if there is one. It ends before a port, path or query. An address in
// brackets keeps its brackets. The case of letters is not changed. Thread-safe.
[[nodiscard]] std::string_view FrontierHostOf(std::string_view url);

// Returns true if a crawl id or key has at most 255 characters. Thread-safe.
[[nodiscard]] bool IsFrontierName(std::string_view name);

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_NAMES_H_
