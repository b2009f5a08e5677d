// Measures text on a terminal, and cuts it to fit.
#ifndef FRESHET_TOOLS_CLI_DISPLAY_H_
#define FRESHET_TOOLS_CLI_DISPLAY_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace freshet::cli {

// Returns the cells of UTF-8 text: wide characters, such as Chinese ones and most emoji, take two,
// combining marks none. Bytes that are not UTF-8 take one each.
[[nodiscard]] size_t DisplayWidth(std::string_view text);

// Returns the text if it fits in so many cells, else its start, its end or, for URLs, both, with an
// ellipsis for the omitted part. Never takes more cells.
[[nodiscard]] std::string CutEnd(std::string_view text, size_t width);
[[nodiscard]] std::string CutMiddle(std::string_view text, size_t width);

// Returns as much of its start as fits.
[[nodiscard]] std::string_view Fitting(std::string_view text, size_t width);

// Returns the cells in a line of standard output, by COLUMNS, else by the terminal. 0 = no
// terminal, or unknown: nothing is cut.
[[nodiscard]] size_t TerminalColumns();

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_DISPLAY_H_
