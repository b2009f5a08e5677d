// Formats --help in the same way for every program: options with their allowed values, groups of
// commands, examples, and a footer.
#ifndef FRESHET_TOOLS_COMMON_COMMAND_HELP_H_
#define FRESHET_TOOLS_COMMON_COMMAND_HELP_H_

#include <span>
#include <string>
#include <string_view>

#include "CLI/CLI.hpp"

namespace freshet {

// The example lines of one command. `path` is its path, such as "freshet crawls set".
struct CommandExample {
  std::string_view command;
  std::string_view lines;  // each begins with two spaces and ends with a line break
};

// Sets the help of `app` and all its commands: examples, if there are any, then `footer`. Must be
// called after all commands were added. Thread-compatible.
void FinishHelp(CLI::App& app, std::span<const CommandExample> examples, const std::string& footer);

}  // namespace freshet

#endif  // FRESHET_TOOLS_COMMON_COMMAND_HELP_H_
