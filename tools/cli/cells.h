// Lines of tables, taken apart.
#ifndef FRESHET_TOOLS_CLI_CELLS_H_
#define FRESHET_TOOLS_CLI_CELLS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::cli {

// The parts between separators, any of these characters; `merge` takes several that follow each
// other for one, and those at either end for none.
[[nodiscard]] std::vector<std::string_view> SplitAt(std::string_view line,
                                                    std::string_view separators, bool merge);

// Without the blanks and line ends around it.
[[nodiscard]] std::string_view Trimmed(std::string_view text);

// The cells of a line of CSV, with quotes taken off. Nothing if a quote is left open.
[[nodiscard]] std::optional<std::vector<std::string>> SplitCsv(std::string_view line,
                                                               char separator);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_CELLS_H_
