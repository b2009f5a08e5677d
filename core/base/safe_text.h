// Texts that somebody else has chosen, for logs, tables and terminals.
//
// All functions are thread-safe.
#ifndef FRESHET_CORE_BASE_SAFE_TEXT_H_
#define FRESHET_CORE_BASE_SAFE_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace freshet {

// The text as one line of valid UTF-8: control characters, also those of C1, separators of lines
// and marks that turn the direction of writing become \n, \t, \x1b or \u202e, bytes that are no
// UTF-8 \xff. A backslash stays as it is: this is for people.
[[nodiscard]] std::string SafeText(std::string_view text);

// Makes JSON text safe in the same way. The text means what it meant: such characters are \u009b in
// its strings. Precondition: it is valid JSON without line breaks, so outside of strings there is
// none.
[[nodiscard]] std::string SafeJson(std::string json);

// At most `most` bytes of it, cut before a character, not within one; what was cut ends by "...".
[[nodiscard]] std::string CutText(std::string_view text, size_t most);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_SAFE_TEXT_H_
