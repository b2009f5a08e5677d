// The command line of a program that is made of subcommands: what freshet-bench and freshet-sim
// have in common.
#ifndef FRESHET_TOOLS_COMMON_COMMAND_LINE_H_
#define FRESHET_TOOLS_COMMON_COMMAND_LINE_H_

#include <functional>
#include <span>
#include <string>

#include "CLI/CLI.hpp"
#include "core/base/status.h"
#include "tools/common/command_help.h"

namespace freshet {

// What is run once the command line is understood. InvalidArgument means bad usage or bad input.
using CommandAction = std::function<Status()>;

// Has `add` declare the subcommands, each of which sets the action that runs it, runs the one that
// is asked for, and returns the program's exit code: 0, 2 for bad usage or bad input, 1 for any
// other failure, also an exception. A failure is one line on standard error. Every help shows the
// examples of its command. Call once, from main.
[[nodiscard]] int RunCommandLine(const std::string& description, const std::string& program,
                                 std::span<const CommandExample> examples,
                                 const std::function<void(CLI::App&, CommandAction&)>& add,
                                 int argc, char** argv);

}  // namespace freshet

#endif  // FRESHET_TOOLS_COMMON_COMMAND_LINE_H_
