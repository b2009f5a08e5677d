// Asks before a command does something that cannot be undone.
#ifndef FRESHET_TOOLS_CLI_CONFIRM_H_
#define FRESHET_TOOLS_CLI_CONFIRM_H_

#include <string_view>

#include "CLI/CLI.hpp"
#include "tools/cli/session.h"

namespace freshet::cli {

// Returns kAccepted if `yes` (--yes) is set, or if the user at the terminal agrees. Returns
// kRefused for any answer but yes. Without a terminal, prints a line that mentions --yes, and
// returns kBadUsage. `what` is the question without its question mark. Thread-compatible.
[[nodiscard]] ExitCode Confirm(const Session& session, bool yes, std::string_view what);

// Adds the flag --yes to a command that asks for confirmation.
void AddYes(CLI::App& command, bool& yes);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_CONFIRM_H_
