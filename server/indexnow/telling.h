// Signals the pages that an IndexNow ping names, and creates unknown pages.
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

// The outcomes of a ping's URLs. Value type, thread-compatible.
struct PingCounts {
  uint64_t applied = 0;
  uint64_t unknown = 0;
  uint64_t created = 0;
  uint64_t refused = 0;
  Status busy;  // not OK: why URLs were refused that may be sent again
};

using Told = std::function<void(StatusOr<PingCounts>)>;

// Counts signals for the rate of the source. Signals to other divisions count too. Thread-safe.
void CountSent(const ServerContext& context, uint64_t signals, Instant now);

// Signals pages of this server, one batch after the other. `poll_size`: the number of URLs of the
// whole ping. `serial`: unique for each ping in a run of the server. Calls `done` once when all is
// durable, on any thread, possibly before this function returns. Not OK: a URL is invalid, or the
// source is not registered. `context` must outlive the work. Thread-safe.
void TellPages(const ServerContext& context, std::vector<std::string> urls, uint64_t poll_size,
               uint64_t serial, Told done);

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_TELLING_H_
