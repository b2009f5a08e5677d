#include "core/base/text.h"

#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>

#include "core/base/limits.h"

namespace freshet {
namespace {

bool IsControl(char c) { return (c >= 0 && c < ' ') || c == 0x7F; }

bool MayNameSource(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

}  // namespace

size_t ValidUtf8Prefix(std::string_view text) {
  size_t begin = 0;
  while (begin < text.size()) {
    if (static_cast<uint8_t>(text[begin]) < 0x80) {
      ++begin;
      continue;
    }
    UChar32 code_point = 0;
    size_t end = begin;
    U8_NEXT(text.data(), end, text.size(), code_point);
    if (code_point < 0) break;
    begin = end;
  }
  return begin;
}

Status ValidateText(std::string_view field, std::string_view text, size_t max_bytes) {
  if (text.size() > max_bytes) {
    return InvalidArgument("{}: {} bytes, at most {} are allowed", field, text.size(), max_bytes);
  }
  const size_t valid = ValidUtf8Prefix(text);
  const auto control = std::find_if(text.begin(), text.end(), IsControl);
  const auto at = static_cast<size_t>(control - text.begin());
  if (at < valid) return InvalidArgument("{}: control character at byte {}", field, at);
  if (valid < text.size()) {
    return InvalidArgument("{}: not valid UTF-8 at byte {}", field, valid);
  }
  return absl::OkStatus();
}

Status ValidateSourceName(std::string_view name) {
  if (name.empty()) return InvalidArgument("a source needs a name");
  if (name.size() > limits::kMaxSourceNameBytes) {
    return InvalidArgument("a name of {} bytes is over the limit of {}", name.size(),
                           limits::kMaxSourceNameBytes);
  }
  if (!std::all_of(name.begin(), name.end(), MayNameSource)) {
    return InvalidArgument("the name may hold only a-z, 0-9, '_', '-' and '.'");
  }
  return absl::OkStatus();
}

}  // namespace freshet
