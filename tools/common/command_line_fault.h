// Explains errors in command lines, with the same words in every program.
#ifndef FRESHET_TOOLS_COMMON_COMMAND_LINE_FAULT_H_
#define FRESHET_TOOLS_COMMON_COMMAND_LINE_FAULT_H_

#include <string>

#include "CLI/CLI.hpp"

namespace freshet {

// Returns one line about the error that `app` found in its command line: "--rate: 'abc' is not a
// number", "unknown flag --craw-rate, did you mean --crawl-rate?". Thread-compatible.
[[nodiscard]] std::string CommandLineFault(const CLI::App& app, const CLI::ParseError& error);

}  // namespace freshet

#endif  // FRESHET_TOOLS_COMMON_COMMAND_LINE_FAULT_H_
