// freshet-sim what-if: predicts freshness under other conditions.
#ifndef FRESHET_LAB_WHAT_IF_WHAT_IF_COMMAND_H_
#define FRESHET_LAB_WHAT_IF_WHAT_IF_COMMAND_H_

#include "CLI/CLI.hpp"
#include "lab/common/command_line.h"

namespace freshet {

void AddWhatIfCommand(CLI::App& app, CommandAction& action);

}  // namespace freshet

#endif  // FRESHET_LAB_WHAT_IF_WHAT_IF_COMMAND_H_
