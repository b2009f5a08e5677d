#include "server/base/build_info.h"

#ifndef FRESHET_COMMIT
#define FRESHET_COMMIT ""
#endif

namespace freshet {

std::string_view BuildCommit() {
  constexpr std::string_view kCommit = FRESHET_COMMIT;
  return kCommit.empty() ? "unknown" : kCommit;
}

std::string_view BuildCompiler() {
#ifdef __clang__
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

}  // namespace freshet
