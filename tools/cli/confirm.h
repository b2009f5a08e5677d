// Asks before a command does something that cannot be undone.
#ifndef FRESHET_TOOLS_CLI_CONFIRM_H_
#define FRESHET_TOOLS_CLI_CONFIRM_H_

#include <string_view>

#include "CLI/CLI.hpp"
#include "tools/cli/session.h"

namespace freshet::cli {

// Returns kAccepted with `yes` (--yes), or when the person at the terminal agrees. Without a
// terminal returns kBadUsage, with a line that names --yes; kRefused for any answer but yes. `what`
// is the question without its question mark. Thread-compatible.
[[nodiscard]] ExitCode Confirm(const Session& session, bool yes, std::string_view what);

// Adds the flag --yes to such a command.
void AddYes(CLI::App& command, bool& yes);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_CONFIRM_H_
