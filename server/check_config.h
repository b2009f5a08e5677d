// What freshetd does with a configuration that it does not serve by: check it, show it. Nothing is
// written or opened but the files that the configuration names, which are read.
#ifndef FRESHET_SERVER_CHECK_CONFIG_H_
#define FRESHET_SERVER_CHECK_CONFIG_H_

#include "server/config/loading.h"

namespace freshet {

// Says every problem on standard error, also those of certificates, keys and the auth file, and
// gives the program's exit code: 0 there are none, 2 there are.
[[nodiscard]] int RunCheckConfig(LoadedConfig loaded);

// Prints what is in force on standard output, or why that cannot be said: 0 or 2.
[[nodiscard]] int RunPrintConfig(const LoadedConfig& loaded);

}  // namespace freshet

#endif  // FRESHET_SERVER_CHECK_CONFIG_H_
