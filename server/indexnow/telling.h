// Has pages signalled that a ping of IndexNow names, and made where nobody knows them.
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

// What became of the URLs of a ping. Value type, thread-compatible.
struct PingCounts {
  uint64_t applied = 0;
  uint64_t unknown = 0;
  uint64_t created = 0;
  uint64_t refused = 0;
  Status busy;  // why some were refused that may be sent again
};

using Told = std::function<void(StatusOr<PingCounts>)>;

// Counts signals as sent by the source, whoever has their pages. Thread-safe.
void CountSent(const ServerContext& context, uint64_t signals, Instant now);

// Signals pages of this server, of a ping that names `poll_size` in all; `serial` is another one
// for each of them in a run. One batch follows the other. `done` is called once all is durable, on
// any thread, maybe before this returns; not OK: it is no list of URLs, or there is no such source.
// Thread-safe. `context` outlives what runs.
void TellPages(const ServerContext& context, std::vector<std::string> urls, uint64_t poll_size,
               uint64_t serial, Told done);

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_TELLING_H_
