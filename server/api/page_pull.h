// Hands out pages of this server to a client that asks once and waits briefly.
#ifndef FRESHET_SERVER_API_PAGE_PULL_H_
#define FRESHET_SERVER_API_PAGE_PULL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/schedule/event.h"
#include "server/api/context.h"

namespace freshet {

// The longest time that a pull waits for pages.
inline constexpr Duration kPullWait = Duration::Millis(100);

// The client of a pull. Value type, thread-compatible.
struct PullingClient {
  std::string client;   // the client as leases name it (LeaseRecord::client)
  std::string address;  // without the port
};

// A pull. Value type, thread-compatible.
struct PagePull {
  std::vector<std::string> crawl_ids;
  PullingClient who;
  uint32_t lease_seconds = 1;
  uint32_t most = 1;  // the maximum number of pages
};

// Pulls pages. `done` is called once, on any thread, with the pages that were found within
// kPullWait. There are none if the server hands out no pages at the moment, or already has the
// maximum number of workers. Thread-safe.
void PullPages(const ServerContext& context, const PagePull& pull,
               std::function<void(std::vector<Assignment>)> done);

// The lease duration of a pull in seconds, if the client asks for `asked` seconds. Thread-safe.
[[nodiscard]] uint32_t PullLeaseSeconds(const ServerContext& context, uint32_t asked);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_PAGE_PULL_H_
