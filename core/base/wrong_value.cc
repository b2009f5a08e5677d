#include "core/base/wrong_value.h"

#include <algorithm>
#include <cstddef>

#include "core/base/nearest.h"
#include "core/base/safe_text.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace freshet {
namespace {

constexpr size_t kMostShown = 60;
// Messages list at most this many names, because people read them.
constexpr size_t kMostNames = 30;

std::string Listed(const std::vector<std::string>& names) {
  const auto shown = static_cast<ptrdiff_t>(std::min(names.size(), kMostNames));
  const std::string more =
      names.size() > kMostNames ? fmt::format(" and {} more", names.size() - kMostNames) : "";
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + shown, ", "), more);
}

}  // namespace

std::string Quoted(std::string_view value) {
  return fmt::format("'{}'", CutText(SafeText(value), kMostShown));
}

std::string WrongValue(std::string_view value, std::string_view allowed) {
  return fmt::format("{} is not {}", Quoted(value), allowed);
}

std::string WrongChoice(std::string_view value, const std::vector<std::string>& choices) {
  return WrongValue(value, "one of " + Listed(choices)) + DidYouMean(value, choices);
}

std::string WrongName(std::string_view name, std::string_view kind,
                      const std::vector<std::string>& names) {
  const std::string wrong = WrongValue(name, kind);
  const std::string meant = DidYouMean(name, names);
  if (!meant.empty() || names.empty()) return wrong + meant;
  return fmt::format("{}; these are known: {}", wrong, Listed(names));
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& names) {
  const std::string nearest = Nearest(name, names);
  return nearest.empty() ? nearest : fmt::format(", did you mean {}?", nearest);
}

}  // namespace freshet
