// The commit and the compiler that this program was built from.
#ifndef FRESHET_SERVER_BASE_BUILD_INFO_H_
#define FRESHET_SERVER_BASE_BUILD_INFO_H_

#include <string_view>

namespace freshet {

// The value of `cmake -DFRESHET_COMMIT=...`; "unknown" without one.
[[nodiscard]] std::string_view BuildCommit();
// The compiler and its version, for example "gcc 12.2.0".
[[nodiscard]] std::string_view BuildCompiler();

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_BUILD_INFO_H_
