// Writes results of a command to files.
#ifndef FRESHET_LAB_SIM_WRITE_FILE_H_
#define FRESHET_LAB_SIM_WRITE_FILE_H_

#include <string>

#include "core/base/status.h"

namespace freshet {

// Replaces the content of the file by `text`. DataLoss: the file was not written, or only in part.
[[nodiscard]] Status WriteFile(const std::string& path, const std::string& text);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_WRITE_FILE_H_
