// Describes a host for people.
#ifndef FRESHET_TOOLS_CLI_HOST_TEXT_H_
#define FRESHET_TOOLS_CLI_HOST_TEXT_H_

#include <cstddef>
#include <string>

#include "freshet/v1/pages.pb.h"

namespace freshet::cli {

// Returns its politeness, its state and the reason why it waits, and below a line for each property
// that only some hosts have. Indents all lines but the first by `indent` columns.
[[nodiscard]] std::string ShowHost(const v1::HostState& host, size_t indent = 0);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_HOST_TEXT_H_
