// Makes texts of strangers safe for logs, tables and terminals.
//
// All functions are thread-safe.
#ifndef FRESHET_CORE_BASE_SAFE_TEXT_H_
#define FRESHET_CORE_BASE_SAFE_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace freshet {

// The text as one line of valid UTF-8. Control characters (C1 too), separators of lines and marks
// of the writing direction become \n, \t, \x1b or \u202e; bytes that are no UTF-8 become \xff. A
// backslash stays as it is: the text is for people, not for parsers.
[[nodiscard]] std::string SafeText(std::string_view text);

// Makes JSON text safe in the same way. Its meaning stays: such characters become \u009b in
// strings. Precondition: valid JSON without line breaks, so they occur only in strings.
[[nodiscard]] std::string SafeJson(std::string json);

// The beginning of the text, at most `most` bytes, cut between characters; a cut text ends with
// "...".
[[nodiscard]] std::string CutText(std::string_view text, size_t most);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_SAFE_TEXT_H_
