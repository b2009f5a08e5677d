// Results that a command writes beside what it prints.
#ifndef FRESHET_TOOLS_SIM_WRITE_FILE_H_
#define FRESHET_TOOLS_SIM_WRITE_FILE_H_

#include <string>

#include "core/base/status.h"

namespace freshet {

// Makes the file hold `text` and nothing else. DataLoss: it could not be written, or not all of it.
[[nodiscard]] Status WriteFile(const std::string& path, const std::string& text);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_WRITE_FILE_H_
