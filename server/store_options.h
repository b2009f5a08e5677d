// Makes the options of the store from the configuration.
#ifndef FRESHET_SERVER_STORE_OPTIONS_H_
#define FRESHET_SERVER_STORE_OPTIONS_H_

#include "storage/options.h"

namespace freshet {

struct ServerConfig;

// Makes the store's options, which include logging to the server's log. Precondition: the
// configuration is valid. Thread-safe.
[[nodiscard]] StoreOptions StoreOptionsOf(const ServerConfig& config);

}  // namespace freshet

#endif  // FRESHET_SERVER_STORE_OPTIONS_H_
