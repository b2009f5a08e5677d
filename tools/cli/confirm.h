// What cannot be undone is asked about first.
#ifndef FRESHET_TOOLS_CLI_CONFIRM_H_
#define FRESHET_TOOLS_CLI_CONFIRM_H_

#include <string_view>

#include "CLI/CLI.hpp"
#include "tools/cli/session.h"

namespace freshet::cli {

// kAccepted if the command is to go on: with `yes` (--yes), or when the person at the terminal says
// so. Elsewhere nobody can be asked: kBadUsage, with a line that names --yes. kRefused for any
// other answer than yes. `what` is the question without its mark. Thread-compatible.
[[nodiscard]] ExitCode Confirm(const Session& session, bool yes, std::string_view what);

// The flag --yes of such a command.
void AddYes(CLI::App& command, bool& yes);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_CONFIRM_H_
