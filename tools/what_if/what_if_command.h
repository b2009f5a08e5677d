// freshet-sim what-if: the command.
#ifndef FRESHET_TOOLS_WHAT_IF_WHAT_IF_COMMAND_H_
#define FRESHET_TOOLS_WHAT_IF_WHAT_IF_COMMAND_H_

#include "CLI/CLI.hpp"
#include "tools/common/command_line.h"

namespace freshet {

void AddWhatIfCommand(CLI::App& app, CommandAction& action);

}  // namespace freshet

#endif  // FRESHET_TOOLS_WHAT_IF_WHAT_IF_COMMAND_H_
