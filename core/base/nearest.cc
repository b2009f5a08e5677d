#include "core/base/nearest.h"

#include <algorithm>
#include <numeric>

namespace freshet {
namespace {

// Longer names are not compared, because no known name is that long.
constexpr size_t kLongestName = 100;

std::string_view LastPart(std::string_view name) {
  return name.substr(name.rfind('.') + 1);  // the whole name if it has no dot
}

// A third of the letters can be wrong, but no more than three.
size_t MostWrong(std::string_view name) { return std::min<size_t>(name.size() / 3, 3); }

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b, size_t most) {
  most = std::min(most, std::max(a.size(), b.size()));
  const size_t more = most + 1;
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > most) return more;
  // `row`, `last` and `before_last` are the three latest rows of the distance table: row i has the
  // distances of the first i letters of `a` to each prefix of `b`. Only cells within `most` of the
  // diagonal are computed: all others exceed `most`.
  std::vector<size_t> before_last(b.size() + 1, more);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1, more);
  std::iota(last.begin(), last.end(), size_t{0});
  size_t least_of_last = 0;
  for (size_t i = 1; i <= a.size(); ++i) {
    const size_t begin = i > most ? i - most : 1;
    const size_t end = std::min(b.size(), i + most);
    size_t least = row[begin - 1] = begin == 1 ? i : more;
    for (size_t j = begin; j <= end; ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
      least = std::min(least, row[j]);
    }
    if (least > most && least_of_last > most) return more;
    if (end < b.size()) row[end + 1] = more;
    least_of_last = least;
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return std::min(last[b.size()], more);
}

std::string Nearest(std::string_view name, const std::vector<std::string>& names) {
  if (name.size() > kLongestName) return {};
  std::string nearest;
  size_t least = SIZE_MAX;
  const auto consider = [&](const std::string& candidate, std::string_view a, std::string_view b,
                            size_t most, size_t besides) {
    const size_t distance = besides + EditDistance(a, b, most);
    if (distance > besides + most || distance >= least) return;
    least = distance;
    nearest = candidate;
  };
  for (const std::string& candidate : names) {
    consider(candidate, name, candidate, MostWrong(name), 0);
    const std::string_view last = LastPart(name);
    if (LastPart(candidate) == candidate && last == name) continue;
    // Here the sections can differ, which counts as one mistake. Besides this mistake, at most one
    // letter of the last part can be wrong.
    consider(candidate, last, LastPart(candidate), std::min<size_t>(MostWrong(last), 1), 1);
  }
  return nearest;
}

}  // namespace freshet
