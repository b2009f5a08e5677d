// The subcommands of freshet-sim. Each lives in a file of its own (tools/sim_NAME.cc), declares its
// flags on the application and sets the action that runs it.
#ifndef FRESHET_TOOLS_SIM_COMMANDS_H_
#define FRESHET_TOOLS_SIM_COMMANDS_H_

#include <functional>
#include <istream>
#include <string>

#include "CLI/CLI.hpp"
#include "core/base/status.h"

namespace freshet {

// What main runs once the command line is understood. InvalidArgument means bad usage or bad input
// (exit code 2), any other error a failure (exit code 1); both print one line on standard error.
using SimAction = std::function<Status()>;

// Runs `body` on the file of that name, or on standard input for "-". NotFound if it cannot be
// opened.
[[nodiscard]] Status WithInput(const std::string& path,
                               const std::function<Status(std::istream&)>& body);

void AddEstimateCommand(CLI::App& app, SimAction& action);
void AddPlanCommand(CLI::App& app, SimAction& action);
void AddReplayCommand(CLI::App& app, SimAction& action);
void AddRunCommand(CLI::App& app, SimAction& action);
void AddValueCommand(CLI::App& app, SimAction& action);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_COMMANDS_H_
