// Splits lines of tables into cells.
#ifndef FRESHET_TOOLS_CLI_CELLS_H_
#define FRESHET_TOOLS_CLI_CELLS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::cli {

// Returns the parts of the text between separators. Each character of the second argument is a
// separator. With `merge`, adjacent separators count as one, and those at either end are ignored.
[[nodiscard]] std::vector<std::string_view> SplitAt(std::string_view line,
                                                    std::string_view separators, bool merge);

// Returns the text without blanks and line ends around it.
[[nodiscard]] std::string_view Trimmed(std::string_view text);

// Returns the cells of a line of CSV without their quotes; nothing if a quote is left open.
[[nodiscard]] std::optional<std::vector<std::string>> SplitCsv(std::string_view line,
                                                               char separator);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_CELLS_H_
