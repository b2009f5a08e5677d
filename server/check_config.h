// Checks or shows a configuration without starting the server. All functions only read the files
// that the configuration names.
#ifndef FRESHET_SERVER_CHECK_CONFIG_H_
#define FRESHET_SERVER_CHECK_CONFIG_H_

#include "server/config/loading.h"

namespace freshet {

// Prints every problem on standard error, including problems of certificates, keys and the auth
// file. Returns the program's exit code: 0 = no problems, 2 = problems.
[[nodiscard]] int RunCheckConfig(LoadedConfig loaded);

// Prints the values in force on standard output, or the problems on standard error. Returns an exit
// code like RunCheckConfig.
[[nodiscard]] int RunPrintConfig(const LoadedConfig& loaded);

}  // namespace freshet

#endif  // FRESHET_SERVER_CHECK_CONFIG_H_
