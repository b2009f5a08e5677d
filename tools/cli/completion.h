// Completion scripts for shells, made of what the program's parser knows.
#ifndef FRESHET_TOOLS_CLI_COMPLETION_H_
#define FRESHET_TOOLS_CLI_COMPLETION_H_

#include <CLI/CLI.hpp>
#include <string>

namespace freshet::cli {

// Each completes the commands and options of `app`, the values of options that have a fixed set of
// them, and files elsewhere. The scripts hold all they need: they run neither the program nor
// anything that talks to a server. The one for bash needs version 4.
[[nodiscard]] std::string BashCompletion(const CLI::App& app);
[[nodiscard]] std::string ZshCompletion(const CLI::App& app);

// Names values for completion and help, and takes any other as well: for options that accept more
// spellings than are worth naming. `values` are as in "{true,false}".
[[nodiscard]] CLI::Validator Suggest(const std::string& values);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_COMPLETION_H_
