// The program `freshet`, except for what depends on the process.
#ifndef FRESHET_TOOLS_CLI_RUN_H_
#define FRESHET_TOOLS_CLI_RUN_H_

#include <string>
#include <vector>

#include "tools/cli/session.h"

namespace freshet::cli {

// Runs one command line (without the program's name) and returns the exit code. Never throws.
ExitCode RunCommandLine(std::vector<std::string> arguments, const Io& io);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_RUN_H_
