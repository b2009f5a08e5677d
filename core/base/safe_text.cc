#include "core/base/safe_text.h"

#include <algorithm>
#include <cstdint>

#include "core/base/text.h"
#include "fmt/format.h"

namespace freshet {
namespace {

// The code point of a character of valid UTF-8, and its length.
struct Character {
  uint32_t code = 0;
  size_t bytes = 0;
};

Character CharacterAt(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {.code = byte(0), .bytes = 1};
  const size_t bytes = byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
  uint32_t code = byte(0) & (0xffU >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) code = code << 6 | (byte(i) & 0x3fU);
  return {.code = code, .bytes = bytes};
}

// Returns true if a terminal or an editor might not show the character as ordinary text within its
// line.
bool IsUnsafe(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
         code == 0x061c || code == 0xfeff;
}

void Escape(uint32_t code, std::string* line) {
  switch (code) {
    case '\n':
      *line += "\\n";
      return;
    case '\r':
      *line += "\\r";
      return;
    case '\t':
      *line += "\\t";
      return;
    default:
      *line += code < 0x80 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
  }
}

void AppendValid(std::string_view text, std::string* line) {
  while (!text.empty()) {
    const Character next = CharacterAt(text);
    if (IsUnsafe(next.code)) {
      Escape(next.code, line);
    } else {
      line->append(text.substr(0, next.bytes));
    }
    text.remove_prefix(next.bytes);
  }
}

bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

}  // namespace

std::string SafeText(std::string_view text) {
  if (IsPlain(text)) return std::string(text);
  std::string line;
  while (!text.empty()) {
    const size_t valid = ValidUtf8Prefix(text);
    AppendValid(text.substr(0, valid), &line);
    text.remove_prefix(valid);
    if (text.empty()) break;
    line += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    text.remove_prefix(1);
  }
  return line;
}

std::string SafeJson(std::string json) {
  if (IsPlain(json)) return json;
  std::string safe;
  safe.reserve(json.size());
  const std::string_view text = json;
  for (size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) >= 0x80 && ValidUtf8Prefix(text.substr(i, 4)) == 0) {
      safe += "\\ufffd";
      ++i;
      continue;
    }
    const Character next = CharacterAt(text.substr(i));
    if (IsUnsafe(next.code)) {
      safe += fmt::format("\\u{:04x}", next.code);
    } else {
      safe.append(text, i, next.bytes);
    }
    i += next.bytes;
  }
  return safe;
}

std::string CutText(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace freshet
