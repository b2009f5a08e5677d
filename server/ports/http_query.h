// Reads the query of an HTTP target.
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

// Removes the escapes; unset = one is invalid. A plus stays one: URLs have no spaces, and some
// clients do not escape it.
[[nodiscard]] std::optional<std::string> Unescaped(std::string_view text);

// The names and values of "a=1&b=2", without escapes. InvalidArgument: an invalid escape, or a name
// given twice.
using HttpParameters = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] StatusOr<HttpParameters> ParseQuery(std::string_view query);

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_HTTP_QUERY_H_
