#include "tools/cli/odd_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "absl/strings/ascii.h"
#include "fmt/format.h"

namespace freshet::cli {
namespace {

bool IsOfWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '-' || c == '.';
}

// Returns "NaN", "Infinity" or "-Infinity" if the word means one of these; else nothing.
std::string_view OddNumber(std::string_view word) {
  const bool negative = word.starts_with('-');
  std::string name(word.substr(negative || word.starts_with('+') ? 1 : 0));
  absl::AsciiStrToLower(&name);
  if (name == "nan") return "NaN";
  bool infinite = name == "inf" || name == "infinity";
  if (!infinite && !name.empty() && absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) {
    char* end = nullptr;
    infinite = std::isinf(std::strtod(name.c_str(), &end)) && *end == '\0';
  }
  if (!infinite) return {};
  return negative ? "-Infinity" : "Infinity";
}

// Returns the length of the quoted string at the beginning of the text, including its quotes.
size_t StringBytes(std::string_view text) {
  size_t i = 1;
  while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

// Replaces each odd number by the result of `replace`. `name` is the last string before the number,
// which is the name of its field.
std::string ReplaceOddNumbers(
    std::string_view json,
    const std::function<std::string(std::string_view name, std::string_view number)>& replace) {
  std::string out;
  std::string_view name;
  while (!json.empty()) {
    size_t size = 1;
    if (json.front() == '"') {
      size = StringBytes(json);
      name = json.substr(1, size < 2 ? 0 : size - 2);
      out.append(json.substr(0, size));
    } else if (IsOfWord(json.front())) {
      while (size < json.size() && IsOfWord(json[size])) ++size;
      const std::string_view number = OddNumber(json.substr(0, size));
      out.append(number.empty() ? std::string(json.substr(0, size)) : replace(name, number));
    } else {
      out.push_back(json.front());
    }
    json.remove_prefix(size);
  }
  return out;
}

}  // namespace

std::string QuoteOddNumbers(std::string_view json) {
  return ReplaceOddNumbers(json, [](std::string_view, std::string_view number) {
    return fmt::format("\"{}\"", number);
  });
}

std::string DropOddNumbers(std::string_view json, std::vector<std::string>* dropped) {
  return ReplaceOddNumbers(json, [dropped](std::string_view name, std::string_view number) {
    dropped->push_back(fmt::format("{}: {} is not a number in JSON", name, number));
    return std::string("null");
  });
}

nlohmann::json ParseObject(std::string_view json) {
  nlohmann::json object = nlohmann::json::parse(json, nullptr, false);
  if (!object.is_discarded()) return object;
  return nlohmann::json::parse(QuoteOddNumbers(json), nullptr, false);
}

}  // namespace freshet::cli
