// The command line of a program with subcommands, shared by freshet-bench and freshet-sim.
#ifndef FRESHET_LAB_COMMON_COMMAND_LINE_H_
#define FRESHET_LAB_COMMON_COMMAND_LINE_H_

#include <functional>
#include <span>
#include <string>

#include "CLI/CLI.hpp"
#include "core/base/status.h"
#include "tools/common/command_help.h"

namespace freshet {

// The action that runs after the command line was parsed. InvalidArgument means bad usage or bad
// input.
using CommandAction = std::function<Status()>;

// Calls `add` to declare the subcommands, each of which sets its action, and runs the requested
// one. Returns the program's exit code: 0, 2 for bad usage or bad input, 1 for any other failure or
// an exception. Prints a failure as one line on standard error. Every help shows the examples of
// its command. Must be called once, from main.
[[nodiscard]] int RunCommandLine(const std::string& description, const std::string& program,
                                 std::span<const CommandExample> examples,
                                 const std::function<void(CLI::App&, CommandAction&)>& add,
                                 int argc, char** argv);

}  // namespace freshet

#endif  // FRESHET_LAB_COMMON_COMMAND_LINE_H_
