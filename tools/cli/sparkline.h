// Curves in a line of text.
#ifndef FRESHET_TOOLS_CLI_SPARKLINE_H_
#define FRESHET_TOOLS_CLI_SPARKLINE_H_

#include <string>
#include <vector>

namespace freshet::cli {

// Whether what the environment says of the terminal's characters (LC_ALL, LC_CTYPE or LANG, the
// first that is set) is UTF-8.
[[nodiscard]] bool TerminalTakesUtf8();

// One character for each value, higher for larger ones, from `low` to `high`: one of eight blocks,
// or without `utf8` of eight characters that grow darker. What is outside is drawn as the nearest
// bound, what is not a number as a blank. All are low when `high` is not above `low`.
[[nodiscard]] std::string Sparkline(const std::vector<double>& values, double low, double high,
                                    bool utf8);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_SPARKLINE_H_
