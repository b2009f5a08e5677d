#include "tools/cli/display.h"

#include <sys/ioctl.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace freshet::cli {
namespace {

constexpr std::string_view kEllipsis = "\u2026";

size_t WidthOf(UChar32 code) {
  if (code < 0) return 1;
  switch (u_charType(code)) {
    case U_NON_SPACING_MARK:
    case U_ENCLOSING_MARK:
    case U_FORMAT_CHAR:
      return 0;
    default:
      break;
  }
  switch (u_getIntPropertyValue(code, UCHAR_EAST_ASIAN_WIDTH)) {
    case U_EA_WIDE:
    case U_EA_FULLWIDTH:
      return 2;
    default:
      return 1;
  }
}

// Returns the width of the character at `i`, and advances `i` past it.
size_t NextWidth(std::string_view text, size_t* i) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  const auto size = static_cast<int64_t>(text.size());
  auto at = static_cast<int64_t>(*i);
  UChar32 code = 0;
  U8_NEXT(bytes, at, size, code);
  *i = static_cast<size_t>(at);
  return WidthOf(code);
}

// Returns the longest end of the text that fits.
std::string_view FittingEnd(std::string_view text, size_t width) {
  size_t cells = DisplayWidth(text);
  size_t i = 0;
  while (cells > width) cells -= NextWidth(text, &i);
  // A combining mark is dropped together with its character.
  for (size_t next = i; next < text.size(); i = next) {
    if (NextWidth(text, &next) > 0) break;
  }
  return text.substr(i);
}

}  // namespace

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size();) width += NextWidth(text, &i);
  return width;
}

std::string_view Fitting(std::string_view text, size_t width) {
  size_t used = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t start = i;
    used += NextWidth(text, &i);
    if (used > width) return text.substr(0, start);
  }
  return text;
}

std::string CutEnd(std::string_view text, size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width == 0) return {};
  return std::string(Fitting(text, width - 1)) + std::string(kEllipsis);
}

std::string CutMiddle(std::string_view text, size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width == 0) return {};
  // Keeps both ends of the text, because a URL begins with its host, and pages of one host differ
  // at the end.
  const size_t front = width / 2;
  return std::string(Fitting(text, front)) + std::string(kEllipsis) +
         std::string(FittingEnd(text, width - 1 - front));
}

size_t TerminalColumns() {
  if (isatty(STDOUT_FILENO) != 1) return 0;
  if (const char* told = std::getenv("COLUMNS"); told != nullptr) {
    size_t columns = 0;
    const auto [end, error] = std::from_chars(told, told + std::strlen(told), columns);
    if (error == std::errc() && *end == '\0' && columns > 0) return columns;
  }
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace freshet::cli
