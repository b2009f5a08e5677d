#include "core/base/nearest.h"

#include <algorithm>
#include <numeric>

namespace freshet {
namespace {

// Longer names are near to nothing that there is.
constexpr size_t kLongestName = 100;

std::string_view LastPart(std::string_view name) {
  return name.substr(name.rfind('.') + 1);  // all of it where there is no dot
}

// A third of the letters may be wrong, three at most.
size_t MostWrong(std::string_view name) { return std::min<size_t>(name.size() / 3, 3); }

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b) {
  // The distances of a's first letters, up to one each of the last three rows, to b's.
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string Nearest(std::string_view name, const std::vector<std::string>& names) {
  if (name.size() > kLongestName) return {};
  std::string nearest;
  size_t least = SIZE_MAX;
  const auto consider = [&](const std::string& candidate, size_t distance, size_t most) {
    if (distance > most || distance >= least) return;
    least = distance;
    nearest = candidate;
  };
  for (const std::string& candidate : names) {
    consider(candidate, EditDistance(name, candidate), MostWrong(name));
    const std::string_view last = LastPart(name);
    if (LastPart(candidate) == candidate && last == name) continue;
    // In another section: next to nothing may be wrong besides.
    consider(candidate, 1 + EditDistance(last, LastPart(candidate)),
             1 + std::min<size_t>(MostWrong(last), 1));
  }
  return nearest;
}

}  // namespace freshet
