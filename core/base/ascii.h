// Functions on ASCII characters that do not depend on the locale. All functions are thread-safe.
#ifndef FRESHET_CORE_BASE_ASCII_H_
#define FRESHET_CORE_BASE_ASCII_H_

#include <optional>
#include <string>
#include <string_view>

namespace freshet {

constexpr bool IsAscii(char c) { return static_cast<unsigned char>(c) < 0x80; }
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// The value of a hexadecimal digit; -1 for anything else.
constexpr int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  const char lower = ToLower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Returns the byte that the percent escape at `text[i]` encodes; nullopt if no escape starts there.
constexpr std::optional<char> EscapedByte(std::string_view text, size_t i) {
  if (i + 2 >= text.size() || text[i] != '%') return std::nullopt;
  const int high = HexValue(text[i + 1]);
  const int low = HexValue(text[i + 2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

inline void AppendEscaped(char c, std::string* out) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  const char escape[] = {'%', kHex[byte >> 4], kHex[byte & 15]};
  out->append(escape, sizeof escape);
}

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_ASCII_H_
