// The page that operators watch.
#ifndef FRESHET_SERVER_OPS_OPS_PAGE_H_
#define FRESHET_SERVER_OPS_OPS_PAGE_H_

#include <string_view>

namespace freshet {

// A whole HTML document without anything from elsewhere; it asks /status.json every second.
// Thread-safe.
[[nodiscard]] std::string_view OpsPage();

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_OPS_PAGE_H_
