// Makes untrusted text safe for logs, tables and terminals.
//
// All functions are thread-safe.
#ifndef FRESHET_CORE_BASE_SAFE_TEXT_H_
#define FRESHET_CORE_BASE_SAFE_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace freshet {

// The text as one line of valid UTF-8. Control characters (also C1), line separators and marks of
// the writing direction become escapes such as \n, \t, \x1b or \u202e. Bytes that are not UTF-8
// become escapes such as \xff. A backslash is not escaped: the text is for people, not for parsers.
[[nodiscard]] std::string SafeText(std::string_view text);

// Makes JSON text safe in the same way, without changing its meaning: unsafe characters become
// escapes such as \u009b. Precondition: valid JSON without line breaks, so that unsafe characters
// occur only in strings.
[[nodiscard]] std::string SafeJson(std::string json);

// At most the first `most` bytes of the text, cut between characters. "..." is appended to a cut
// text.
[[nodiscard]] std::string CutText(std::string_view text, size_t most);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_SAFE_TEXT_H_
