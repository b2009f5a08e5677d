// Checks texts of strangers before they are kept and shown: UTF-8 without control characters, not
// too long.
//
// All functions are thread-safe.
#ifndef FRESHET_CORE_BASE_TEXT_H_
#define FRESHET_CORE_BASE_TEXT_H_

#include <cstddef>
#include <string_view>

#include "core/base/status.h"

namespace freshet {

// Length of the longest prefix of `text` that is valid UTF-8: nothing overlong, no surrogates,
// nothing beyond U+10FFFF, nothing cut off.
[[nodiscard]] size_t ValidUtf8Prefix(std::string_view text);

// InvalidArgument unless `text` is valid UTF-8 without ASCII control characters and within
// `max_bytes`; `field` names it in the message.
[[nodiscard]] Status ValidateText(std::string_view field, std::string_view text, size_t max_bytes);

// InvalidArgument unless `name` may name a source of signals: 1 to limits::kMaxSourceNameBytes of
// a-z, 0-9, `_`, `-` and `.`.
[[nodiscard]] Status ValidateSourceName(std::string_view name);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_TEXT_H_
