// Validates untrusted text before it is stored and shown: UTF-8, no control characters, bounded
// length.
//
// All functions are thread-safe.
#ifndef FRESHET_CORE_BASE_TEXT_H_
#define FRESHET_CORE_BASE_TEXT_H_

#include <cstddef>
#include <string_view>

#include "core/base/status.h"

namespace freshet {

// The length of the longest prefix of `text` that is valid UTF-8: nothing overlong, no surrogates,
// nothing beyond U+10FFFF, no incomplete sequences.
[[nodiscard]] size_t ValidUtf8Prefix(std::string_view text);

// Not OK: InvalidArgument if `text` is not valid UTF-8, has ASCII control characters or is longer
// than `max_bytes`. The message names `field`.
[[nodiscard]] Status ValidateText(std::string_view field, std::string_view text, size_t max_bytes);

// Not OK: InvalidArgument unless `name` is a valid name of a signal source: 1 to
// limits::kMaxSourceNameBytes characters from a-z, 0-9, `_`, `-` and `.`.
[[nodiscard]] Status ValidateSourceName(std::string_view name);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_TEXT_H_
