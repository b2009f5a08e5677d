// The files that the console serves to browsers, including the library that draws the plots.
#ifndef FRESHET_SERVER_OPS_CONSOLE_FILES_H_
#define FRESHET_SERVER_OPS_CONSOLE_FILES_H_

#include <span>
#include <string_view>

namespace freshet {

// One file. Value type, thread-compatible.
struct ConsoleFile {
  std::string_view name;  // empty = the page itself
  std::string_view type;
  std::string_view text;
};

// All files. Thread-safe.
[[nodiscard]] std::span<const ConsoleFile> ConsoleFiles();

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_CONSOLE_FILES_H_
