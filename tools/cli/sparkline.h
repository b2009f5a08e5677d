// Draws a curve in one line of text.
#ifndef FRESHET_TOOLS_CLI_SPARKLINE_H_
#define FRESHET_TOOLS_CLI_SPARKLINE_H_

#include <string>
#include <vector>

namespace freshet::cli {

// Returns true if the environment (LC_ALL, LC_CTYPE or LANG, the first that is set) says that the
// terminal takes UTF-8.
[[nodiscard]] bool TerminalTakesUtf8();

// Draws one character for each value, from `low` to `high`. With `utf8`, the characters are eight
// blocks; otherwise they are eight characters that grow darker. Values out of the range count as
// the nearest bound, and NaN is a blank. Unless `high` is above `low`, all values count as low.
[[nodiscard]] std::string Sparkline(const std::vector<double>& values, double low, double high,
                                    bool utf8);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_SPARKLINE_H_
