// A host as people read it.
#ifndef FRESHET_TOOLS_CLI_HOST_TEXT_H_
#define FRESHET_TOOLS_CLI_HOST_TEXT_H_

#include <string>

#include "freshet/v1/pages.pb.h"

namespace freshet::cli {

// One line: its politeness, what it is doing, and what it waits for.
[[nodiscard]] std::string ShowHost(const v1::HostState& host);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_HOST_TEXT_H_
