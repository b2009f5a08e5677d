// A host as people read it.
#ifndef FRESHET_TOOLS_CLI_HOST_TEXT_H_
#define FRESHET_TOOLS_CLI_HOST_TEXT_H_

#include <cstddef>
#include <string>

#include "freshet/v1/pages.pb.h"

namespace freshet::cli {

// Its politeness, what it is doing, and what it waits for; below it, a line each, what only some
// hosts have. All lines but the first are indented by `indent` columns.
[[nodiscard]] std::string ShowHost(const v1::HostState& host, size_t indent = 0);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_HOST_TEXT_H_
