// How much room text takes on a terminal, and how it is made to fit.
#ifndef FRESHET_TOOLS_CLI_DISPLAY_H_
#define FRESHET_TOOLS_CLI_DISPLAY_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace freshet::cli {

// Cells that text in UTF-8 takes: wide characters, as those of Chinese and most emoji, take two,
// marks on the character before them none. What is no UTF-8 takes a cell a byte.
[[nodiscard]] size_t DisplayWidth(std::string_view text);

// The text if it fits in so many cells, else its start, its end or, for URLs, both, with an
// ellipsis for what is left out. Never more cells than that.
[[nodiscard]] std::string CutEnd(std::string_view text, size_t width);
[[nodiscard]] std::string CutMiddle(std::string_view text, size_t width);

// Its start as far as it fits in so many cells.
[[nodiscard]] std::string_view Fitting(std::string_view text, size_t width);

// Cells in a line of standard output: what COLUMNS says, else the terminal. 0: no terminal, or
// nobody knows, so that nothing is to be cut.
[[nodiscard]] size_t TerminalColumns();

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_DISPLAY_H_
