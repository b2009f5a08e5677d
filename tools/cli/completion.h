// Writes completion scripts for shells from the program's parser.
#ifndef FRESHET_TOOLS_CLI_COMPLETION_H_
#define FRESHET_TOOLS_CLI_COMPLETION_H_

#include <CLI/CLI.hpp>
#include <string>

namespace freshet::cli {

// Each script completes the commands and options of `app`, the fixed values of options, and file
// names everywhere else. The scripts run no other program and call no server. The script for bash
// needs version 4.
[[nodiscard]] std::string BashCompletion(const CLI::App& app);
[[nodiscard]] std::string ZshCompletion(const CLI::App& app);

// Names values for completion and help, and accepts any other value too. Meant for options with too
// many spellings to list all of them. `values` has the form "{true,false}".
[[nodiscard]] CLI::Validator Suggest(const std::string& values);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_COMPLETION_H_
