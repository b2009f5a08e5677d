// What this program was built from, and by what.
#ifndef FRESHET_SERVER_BASE_BUILD_INFO_H_
#define FRESHET_SERVER_BASE_BUILD_INFO_H_

#include <string_view>

namespace freshet {

// As `cmake -DFRESHET_COMMIT=...` was told; "unknown" where it was not.
[[nodiscard]] std::string_view BuildCommit();
// "gcc 12.2.0".
[[nodiscard]] std::string_view BuildCompiler();

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_BUILD_INFO_H_
