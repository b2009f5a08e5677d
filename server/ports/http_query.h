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

// Decodes %-escapes; unset = an escape is invalid. A plus is kept, because URLs have no spaces and
// some clients do not escape a plus.
[[nodiscard]] std::optional<std::string> Unescaped(std::string_view text);

// The decoded names and values of a query like "a=1&b=2". Not OK: InvalidArgument for an invalid
// escape or a name that is given twice.
using HttpParameters = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] StatusOr<HttpParameters> ParseQuery(std::string_view query);

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_HTTP_QUERY_H_
