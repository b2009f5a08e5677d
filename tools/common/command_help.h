// How --help looks, the same in every program: options with what they take in words, commands in
// groups, examples, and a footer.
#ifndef FRESHET_TOOLS_COMMON_COMMAND_HELP_H_
#define FRESHET_TOOLS_COMMON_COMMAND_HELP_H_

#include <span>
#include <string>
#include <string_view>

#include "CLI/CLI.hpp"

namespace freshet {

// The lines of one command, which is named by its path, such as "freshet crawls set".
struct CommandExample {
  std::string_view command;
  std::string_view lines;  // each with two spaces before it and a line break after it
};

// Gives `app` and all its commands their help: examples, where there are some, before `footer`.
// Call after all commands were added. Thread-compatible.
void FinishHelp(CLI::App& app, std::span<const CommandExample> examples, const std::string& footer);

}  // namespace freshet

#endif  // FRESHET_TOOLS_COMMON_COMMAND_HELP_H_
