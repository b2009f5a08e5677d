// Signals the pages that an IndexNow ping names, and creates unknown ones.
#ifndef FRESHET_SERVER_INDEXNOW_TELLING_H_
#define FRESHET_SERVER_INDEXNOW_TELLING_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "server/api/context.h"

namespace freshet {

inline constexpr const char* kIndexNowSource = "indexnow";

// The outcome of a ping's URLs. Value type, thread-compatible.
struct PingCounts {
  uint64_t applied = 0;
  uint64_t unknown = 0;
  uint64_t created = 0;
  uint64_t refused = 0;
  Status busy;  // why some were refused that may be sent again
};

using Told = std::function<void(StatusOr<PingCounts>)>;

// Counts signals as sent by the source, in whichever division their pages are. Thread-safe.
void CountSent(const ServerContext& context, uint64_t signals, Instant now);

// Signals pages of this server, from a ping of `poll_size` URLs in all; `serial` is unique for each
// ping in a run. One batch follows the other. `done` is called once when all is durable, on any
// thread, maybe before this returns. Not OK: it is no list of URLs, or there is no such source.
// `context` outlives the work. Thread-safe.
void TellPages(const ServerContext& context, std::vector<std::string> urls, uint64_t poll_size,
               uint64_t serial, Told done);

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_TELLING_H_
