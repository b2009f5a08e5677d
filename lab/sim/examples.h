// Examples in the help of freshet-sim.
#ifndef FRESHET_LAB_SIM_EXAMPLES_H_
#define FRESHET_LAB_SIM_EXAMPLES_H_

#include <span>

#include "tools/common/command_help.h"

namespace freshet {

// Examples of every command. Each line can be run as written, after the lines before it.
[[nodiscard]] std::span<const CommandExample> SimExamples();

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_EXAMPLES_H_
