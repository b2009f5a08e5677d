// Texts in logs: no text of a client can end a line, begin another, reach a terminal as an escape
// sequence, or fill the disk with one line.
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

// Bytes of one line, before escapes.
inline constexpr size_t kMaxLogLineBytes = 8192;

// SafeText of at most `most` bytes. A longer text is cut, and ends with its size.
[[nodiscard]] std::string LogText(std::string_view text, size_t most = kMaxLogLineBytes);

// "2026-01-02T03:04:05.000006Z".
[[nodiscard]] std::string TimeText(Instant at);
// Reads such a text, to the microsecond and in UTC; unset = it is invalid.
[[nodiscard]] std::optional<Instant> ParseTimeText(const std::string& text);

}  // namespace freshet

#endif  // FRESHET_SERVER_LOGS_LOG_TEXT_H_
