#include "tools/cli/cells.h"

#include <algorithm>

namespace freshet::cli {

std::vector<std::string_view> SplitAt(std::string_view line, std::string_view separators,
                                      bool merge) {
  std::vector<std::string_view> cells;
  size_t start = 0;
  while (start <= line.size()) {
    const size_t end = std::min(line.find_first_of(separators, start), line.size());
    if (!merge || end > start) cells.push_back(line.substr(start, end - start));
    start = end + 1;
  }
  return cells;
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Returns the cells of a line of CSV without their quotes; nothing if a quote is left open.
std::optional<std::vector<std::string>> SplitCsv(std::string_view line, char separator) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back().push_back(line[i++]);
    } else if (line[i] == '"' && (quoted || Trimmed(cells.back()).empty())) {
      quoted = !quoted;
    } else if (line[i] == separator && !quoted) {
      cells.emplace_back();
    } else {
      cells.back().push_back(line[i]);
    }
  }
  if (quoted) return std::nullopt;
  return cells;
}

}  // namespace freshet::cli
