// The path and the query of an http or https URL, following the WHATWG URL standard. Existing
// escapes are kept unchanged, in upper or lower case. A `%` that does not start an escape is also
// kept. Servers differ in how they read both, so a change could name a different page. All
// functions are thread-safe and linear, and allocate only to enlarge `out`.
#ifndef FRESHET_CORE_BASE_URL_PATH_H_
#define FRESHET_CORE_BASE_URL_PATH_H_

#include <string>
#include <string_view>

namespace freshet {

// Appends the canonical form of a path, which is empty or starts with a slash. Backslashes become
// slashes. Segments `.` and `..` are resolved, also if a dot is written `%2e`. Characters that the
// standard forbids in a path are escaped. The result is at least "/".
void AppendPath(std::string_view path, std::string* out);

// Appends a query (without its `?`). Characters that the standard forbids in a query are escaped.
void AppendQuery(std::string_view query, std::string* out);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_URL_PATH_H_
