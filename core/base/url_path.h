// Path and query of an http or https URL, after the WHATWG URL standard. Escapes stay as they are,
// in both cases of letters, and so does a `%` that starts none: each server reads them in its own
// way. Functions are thread-safe, linear and allocate nothing but what `out` needs.
#ifndef FRESHET_CORE_BASE_URL_PATH_H_
#define FRESHET_CORE_BASE_URL_PATH_H_

#include <string>
#include <string_view>

namespace freshet {

// Appends the canonical form of a path, which is empty or starts with a slash: backslashes are
// slashes; segments `.` and `..`, also where `%2e` stands for a dot, are resolved; what the
// standard forbids in a path is escaped. At least "/".
void AppendPath(std::string_view path, std::string* out);

// Appends a query (without its `?`), with what the standard forbids in one escaped.
void AppendQuery(std::string_view query, std::string* out);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_URL_PATH_H_
