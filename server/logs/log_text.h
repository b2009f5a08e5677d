// Makes texts safe for logs. No client's text can end a line, begin another line, send an escape
// sequence to a terminal, or fill the disk with one line.
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

// The maximum size of one line in bytes, before escaping.
inline constexpr size_t kMaxLogLineBytes = 8192;

// Returns SafeText of the first `most` bytes. If the text is longer, its size is appended.
[[nodiscard]] std::string LogText(std::string_view text, size_t most = kMaxLogLineBytes);

// Writes an instant as "2026-01-02T03:04:05.000006Z".
[[nodiscard]] std::string TimeText(Instant at);
// Reads a text of the form that TimeText writes; unset = the text is invalid.
[[nodiscard]] std::optional<Instant> ParseTimeText(const std::string& text);

}  // namespace freshet

#endif  // FRESHET_SERVER_LOGS_LOG_TEXT_H_
