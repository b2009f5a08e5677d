// Draws curves in a line of text.
#ifndef FRESHET_TOOLS_CLI_SPARKLINE_H_
#define FRESHET_TOOLS_CLI_SPARKLINE_H_

#include <string>
#include <vector>

namespace freshet::cli {

// Whether the environment (LC_ALL, LC_CTYPE or LANG, the first that is set) says that the terminal
// takes UTF-8.
[[nodiscard]] bool TerminalTakesUtf8();

// Draws one character for each value, from `low` to `high`: one of eight blocks, or without `utf8`
// of eight characters that grow darker. Values outside count as the nearest bound, NaN is a blank.
// All are low unless `high` is above `low`.
[[nodiscard]] std::string Sparkline(const std::vector<double>& values, double low, double high,
                                    bool utf8);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_SPARKLINE_H_
