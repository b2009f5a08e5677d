// What a target of HTTP says behind its question mark.
#ifndef FRESHET_SERVER_PORTS_HTTP_QUERY_H_
#define FRESHET_SERVER_PORTS_HTTP_QUERY_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"

namespace freshet {

// All functions are thread-safe.

// Without its escapes; unset where one is none. A plus stays one: URLs have no spaces, and some
// clients do not escape it.
[[nodiscard]] std::optional<std::string> Unescaped(std::string_view text);

// The names and values of "a=1&b=2", without their escapes. InvalidArgument: an escape is none, or
// a name is given twice.
using HttpParameters = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] StatusOr<HttpParameters> ParseQuery(std::string_view query);

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_HTTP_QUERY_H_
