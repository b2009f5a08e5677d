#include "server/ports/http_query.h"

#include <algorithm>

namespace freshet {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<std::string> Unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
    if (low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

StatusOr<HttpParameters> ParseQuery(std::string_view query) {
  HttpParameters parameters;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    std::optional<std::string> name = Unescaped(pair.substr(0, equals));
    std::optional<std::string> value =
        Unescaped(equals == std::string_view::npos ? "" : pair.substr(equals + 1));
    if (!name || !value) {
      return InvalidArgument("{}: has a malformed %-escape", name.value_or("a parameter"));
    }
    for (const auto& [other, unused] : parameters) {
      if (other == *name) return InvalidArgument("{}: is given twice", *name);
    }
    parameters.emplace_back(*std::move(name), *std::move(value));
  }
  return parameters;
}

}  // namespace freshet
