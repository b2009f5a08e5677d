// freshet-sim paper: runs the experiments of the papers by name.
#ifndef FRESHET_LAB_PAPER_PAPER_COMMAND_H_
#define FRESHET_LAB_PAPER_PAPER_COMMAND_H_

#include "CLI/CLI.hpp"
#include "lab/common/command_line.h"

namespace freshet {

void AddPaperCommand(CLI::App& app, CommandAction& action);

}  // namespace freshet

#endif  // FRESHET_LAB_PAPER_PAPER_COMMAND_H_
