// Texts in logs: nothing that somebody else has chosen can end a line, begin another, reach a
// terminal as an escape sequence, or fill the disk with one line.
//
// All functions are thread-safe.
#ifndef FRESHET_SERVER_LOGS_LOG_TEXT_H_
#define FRESHET_SERVER_LOGS_LOG_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/units.h"

namespace freshet {

// Of one line, before escapes.
inline constexpr size_t kMaxLogLineBytes = 8192;

// The text as one line of valid UTF-8: control characters, also those of C1, separators of lines
// and marks that turn the direction of writing become \n, \t, \x1b or \u202e, bytes that are no
// UTF-8 \xff. A backslash stays as it is: logs are for people. Texts over `most` bytes are cut, and
// end by how many there were.
[[nodiscard]] std::string LogText(std::string_view text, size_t most = kMaxLogLineBytes);

// At most `most` bytes of it, cut before a character, not within one; what was cut ends by "...".
[[nodiscard]] std::string CutText(std::string_view text, size_t most);

// "2026-01-02T03:04:05.000006Z".
[[nodiscard]] std::string TimeText(Instant at);
// Unset: it is none, to the microsecond and in UTC.
[[nodiscard]] std::optional<Instant> ParseTimeText(const std::string& text);

}  // namespace freshet

#endif  // FRESHET_SERVER_LOGS_LOG_TEXT_H_
