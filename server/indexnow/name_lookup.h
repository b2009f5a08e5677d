// The addresses of a host, without waiting for the system's resolver longer than is wanted.
#ifndef FRESHET_SERVER_INDEXNOW_NAME_LOOKUP_H_
#define FRESHET_SERVER_INDEXNOW_NAME_LOOKUP_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace freshet {

// The addresses of a host as texts of numbers; none: it has none, or nobody knows.
using Resolver = std::function<std::vector<std::string>(const std::string& host)>;

// Look-ups under way at a time, of this process. Another one finds nothing.
inline constexpr size_t kMostLookUps = 64;

// Asks the system, which may take minutes: 5 s for each of its servers, several times.
[[nodiscard]] std::vector<std::string> AskSystem(const std::string& host);

// What `resolve` finds within `timeout`, and before `cancelled` becomes true; else nothing. Nobody
// can stop a resolver: it goes on in a thread of its own, for which nobody waits, and holds one of
// kMostLookUps until then. Thread-safe.
[[nodiscard]] std::vector<std::string> LookUp(const std::string& host, Duration timeout,
                                              const std::atomic<bool>& cancelled,
                                              const Resolver& resolve = AskSystem);

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_NAME_LOOKUP_H_
