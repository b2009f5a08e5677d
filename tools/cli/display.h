// Measures text on a terminal, and cuts it to fit.
#ifndef FRESHET_TOOLS_CLI_DISPLAY_H_
#define FRESHET_TOOLS_CLI_DISPLAY_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace freshet::cli {

// Returns how many cells of a terminal UTF-8 text takes. Wide characters, for example Chinese ones
// and most emoji, take two cells; combining marks take none. Bytes that are not UTF-8 take one
// each.
[[nodiscard]] size_t DisplayWidth(std::string_view text);

// Returns the text if it fits into `width` cells. Otherwise CutEnd cuts off its end, and CutMiddle
// cuts out its middle, which is better for URLs. An ellipsis marks the cut. The result never takes
// more than `width` cells.
[[nodiscard]] std::string CutEnd(std::string_view text, size_t width);
[[nodiscard]] std::string CutMiddle(std::string_view text, size_t width);

// Returns the longest start of the text that fits into `width` cells.
[[nodiscard]] std::string_view Fitting(std::string_view text, size_t width);

// Returns the number of cells in a line of standard output: COLUMNS if it is set, or else the width
// of the terminal. 0 = not a terminal, or unknown; the output is then not cut.
[[nodiscard]] size_t TerminalColumns();

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_DISPLAY_H_
