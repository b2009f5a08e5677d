// Examples in the help of every command.
#ifndef FRESHET_TOOLS_CLI_EXAMPLES_H_
#define FRESHET_TOOLS_CLI_EXAMPLES_H_

#include <CLI/CLI.hpp>
#include <string>

namespace freshet::cli {

// Adds examples and `footer` to the help of `app` and of every command below it.
void AddExamples(CLI::App& app, const std::string& footer);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_EXAMPLES_H_
