// Looks up the addresses of a host by the system's resolver, with a time limit.
#ifndef FRESHET_SERVER_INDEXNOW_NAME_LOOKUP_H_
#define FRESHET_SERVER_INDEXNOW_NAME_LOOKUP_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace freshet {

// Returns a host's addresses in numeric form; empty = none found.
using Resolver = std::function<std::vector<std::string>(const std::string& host)>;

// The maximum number of lookups in progress in this process. Further lookups find nothing.
inline constexpr size_t kMostLookUps = 64;

// Asks the system. This can take minutes, because the system waits 5 s for each of its name
// servers, several times.
[[nodiscard]] std::vector<std::string> AskSystem(const std::string& host);

// Returns the addresses that `resolve` finds within `timeout` and before `cancelled` becomes true;
// else none. A resolver cannot be stopped. If it takes longer, its thread continues in the
// background, and takes one of the kMostLookUps places until it ends. Thread-safe.
[[nodiscard]] std::vector<std::string> LookUp(const std::string& host, Duration timeout,
                                              const std::atomic<bool>& cancelled,
                                              const Resolver& resolve = AskSystem);

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_NAME_LOOKUP_H_
