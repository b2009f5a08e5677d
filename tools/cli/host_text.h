// Describes a host in text for users.
#ifndef FRESHET_TOOLS_CLI_HOST_TEXT_H_
#define FRESHET_TOOLS_CLI_HOST_TEXT_H_

#include <cstddef>
#include <string>

#include "freshet/v1/pages.pb.h"

namespace freshet::cli {

// Returns a line with the host's politeness, its state and the reason why it waits. Further lines
// follow for properties that only some hosts have. All lines but the first are indented by `indent`
// columns.
[[nodiscard]] std::string ShowHost(const v1::HostState& host, size_t indent = 0);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_HOST_TEXT_H_
