#include "tools/common/allowed_values.h"

#include <sstream>
#include <string_view>

#include "fmt/format.h"

namespace freshet {
namespace {

// Returns the text between two marks, or an empty text.
std::string_view Between(std::string_view text, char open, char close) {
  const size_t begin = text.find(open);
  const size_t end = text.find(close, begin);
  if (begin == std::string_view::npos || end == std::string_view::npos) return {};
  return text.substr(begin + 1, end - begin - 1);
}

}  // namespace

AllowedValues AllowedValuesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  AllowedValues allowed;
  if (type.starts_with("FLOAT")) {
    allowed.kind = "N";
    allowed.noun = "a number";
  } else if (type.starts_with("INT") || type.starts_with("UINT")) {
    allowed.kind = "N";
    allowed.noun = type.starts_with("INT") ? "a whole number" : "a whole number of at least 0";
  } else if (type.find("FILE") != std::string::npos) {
    allowed.kind = "FILE";
  }
  if (const std::string_view range = Between(type, '[', ']'); !range.empty()) {
    const size_t dash = range.find(" - ");
    if (dash != std::string_view::npos) {
      allowed.low = range.substr(0, dash);
      allowed.high = range.substr(dash + 3);
      if (type.starts_with("UINT")) allowed.noun = "a whole number";
    }
  }
  std::istringstream choices{std::string(Between(type, '{', '}'))};
  for (std::string choice; std::getline(choices, choice, ',');) allowed.choices.push_back(choice);
  return allowed;
}

std::string Described(const AllowedValues& allowed) {
  if (allowed.low.empty()) return allowed.noun;
  return fmt::format("{} from {} to {}", allowed.noun, allowed.low, allowed.high);
}

}  // namespace freshet
