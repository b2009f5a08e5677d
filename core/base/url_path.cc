#include "core/base/url_path.h"

#include <array>

#include "core/base/ascii.h"
#include "core/base/check.h"

namespace freshet {
namespace {

using CharacterSet = std::array<bool, 256>;

// Control characters, the space, all bytes outside ASCII, and the characters of `named`.
constexpr CharacterSet EscapeSet(std::string_view named) {
  CharacterSet set{};
  for (size_t c = 0; c < set.size(); ++c) set[c] = c <= 0x20 || c >= 0x7F;
  for (const char c : named) set[static_cast<unsigned char>(c)] = true;
  return set;
}

// The standard's path percent-encode set and special-query percent-encode set, as browsers and Node
// 20 implement them: `^` and `|` are escaped in neither.
constexpr CharacterSet kEscapedInPath = EscapeSet("\"#<>?`{}");
constexpr CharacterSet kEscapedInQuery = EscapeSet("\"#<>'");

void AppendWithEscapes(std::string_view text, const CharacterSet& escaped, std::string* out) {
  size_t done = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!escaped[static_cast<unsigned char>(text[i])]) continue;
    out->append(text, done, i - done);
    AppendEscaped(text[i], out);
    done = i + 1;
  }
  out->append(text, done);
}

constexpr bool IsSlash(char c) { return c == '/' || c == '\\'; }

// Returns 1 or 2 if a segment consists of one or two dots (`%2e` counts as a dot), otherwise 0.
int Dots(std::string_view segment) {
  int dots = 0;
  for (size_t i = 0; i < segment.size(); ++dots) {
    if (segment[i] == '.') {
      i += 1;
    } else if (EscapedByte(segment, i) == '.') {
      i += 3;
    } else {
      return 0;
    }
  }
  return dots <= 2 ? dots : 0;
}

}  // namespace

void AppendPath(std::string_view path, std::string* out) {
  DCHECK(path.empty() || IsSlash(path.front()), "path without slash: {}", path);
  const size_t start = out->size();
  for (bool last = path.empty(); !last;) {
    size_t end = 1;
    while (end < path.size() && !IsSlash(path[end])) ++end;
    const std::string_view segment = path.substr(1, end - 1);
    path.remove_prefix(end);
    last = path.empty();
    const int dots = Dots(segment);
    // An escaped segment has no slash, so the last slash in `out` starts the last segment.
    if (dots == 2 && out->size() > start) out->resize(out->rfind('/'));
    if (dots > 0 && !last) continue;
    *out += '/';
    if (dots == 0) AppendWithEscapes(segment, kEscapedInPath, out);
  }
  if (out->size() == start) *out += '/';
}

void AppendQuery(std::string_view query, std::string* out) {
  AppendWithEscapes(query, kEscapedInQuery, out);
}

}  // namespace freshet
