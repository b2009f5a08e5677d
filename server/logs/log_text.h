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

// SafeText, of which texts over `most` bytes are cut, and end by how many there were.
[[nodiscard]] std::string LogText(std::string_view text, size_t most = kMaxLogLineBytes);

// "2026-01-02T03:04:05.000006Z".
[[nodiscard]] std::string TimeText(Instant at);
// Unset: it is none, to the microsecond and in UTC.
[[nodiscard]] std::optional<Instant> ParseTimeText(const std::string& text);

}  // namespace freshet

#endif  // FRESHET_SERVER_LOGS_LOG_TEXT_H_
