// The subcommands of freshet-sim. Each has a separate file (lab/sim/NAME_command.cc), which
// declares its flags on the application and sets the action that runs it.
#ifndef FRESHET_LAB_SIM_COMMANDS_H_
#define FRESHET_LAB_SIM_COMMANDS_H_

#include <functional>
#include <istream>
#include <string>

#include "CLI/CLI.hpp"
#include "core/base/status.h"
#include "lab/common/command_line.h"

namespace freshet {

// Runs `body` on the file with this name, or on standard input for "-". NotFound: the file cannot
// be opened.
[[nodiscard]] Status WithInput(const std::string& path,
                               const std::function<Status(std::istream&)>& body);

void AddCompareCommand(CLI::App& app, CommandAction& action);
void AddEstimateCommand(CLI::App& app, CommandAction& action);
void AddFleetCommand(CLI::App& app, CommandAction& action);
void AddPlanCommand(CLI::App& app, CommandAction& action);
void AddReplayCommand(CLI::App& app, CommandAction& action);
void AddRunCommand(CLI::App& app, CommandAction& action);
void AddValueCommand(CLI::App& app, CommandAction& action);
void AddWorldsCommand(CLI::App& app, CommandAction& action);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_COMMANDS_H_
