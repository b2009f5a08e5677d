// URLs of the crawl-frontier API, as clients put and pull them.
#ifndef FRESHET_SERVER_FRONTIER_FRONTIER_URLS_H_
#define FRESHET_SERVER_FRONTIER_FRONTIER_URLS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/shares.h"
#include "core/base/units.h"
#include "server/base/answer_limits.h"
#include "server/base/frontier_limits.h"
#include "server/frontier/crawl_turns.h"
#include "storage/frontier_store.h"

namespace freshet {

// The result of a fetch, taken from the metadata of a known URL.
struct FrontierFetch {
  int http_status = 0;  // 0 = not told
  std::string digest;   // empty = not told
};

// A URL that a client puts. `crawl` and `key` must not be empty.
struct FrontierPut {
  std::string crawl;
  std::string key;
  std::string url;
  std::string metadata;
  bool known = false;  // false = discovered
  uint64_t due = 0;    // only for a known URL, in seconds since 1970; 0 = never again
  Claim claim;         // the client's claim
  // True if the client may report results of fetches for this URL. If not, the put changes the
  // URL's data, but does not end a flight of the URL.
  bool reports = true;
  FrontierFetch fetch;  // the fetch to report for the URL's page
};

enum class FrontierOutcome : uint8_t {
  kOk,
  kKnown,    // already known, and will be due at some time: need not be sent again
  kSkipped,  // already known, but never due again; or too large
  kFailed,   // not taken this time
};

// A URL that was handed out.
struct FrontierServed {
  FrontierQueueId queue;
  uint64_t serial = 0;  // serial of its flight
  std::string crawl;
  std::string key;
  std::string url;
  std::string metadata;
  // The lease of the page, if Freshet schedules the crawl id. The URL then has no flight. 0 = none.
  LeaseId lease;
};

// The bytes of memory that the URL takes until it is sent to its client.
[[nodiscard]] inline size_t BytesOf(const FrontierServed& served) {
  return sizeof(FrontierServed) + served.crawl.size() + served.key.size() + served.url.size() +
         served.metadata.size();
}
// Adds the bytes of another URL of a pull. Returns false, and adds nothing, if the URL does not
// fit. The first URL always fits.
[[nodiscard]] inline bool AddBytes(size_t more, size_t* bytes) {
  if (*bytes > 0 && *bytes + more > limits::kMaxBytesPerPull) return false;
  *bytes += more;
  return true;
}

// The full name of a URL.
struct FrontierName {
  std::string crawl;
  std::string key;
  std::string url;
};

// A client's request for URLs, and its progress. Value type, thread-compatible.
struct FrontierPull {
  std::optional<std::string> crawl;  // unset = all crawl ids, which take turns
  // Used if `crawl` is unset: crawl ids to skip, because Freshet schedules them and serves them
  // elsewhere; nullptr = none.
  std::shared_ptr<const std::vector<std::string>> except;
  // Used if `crawl` is unset: the only crawl ids to serve; nullptr = all.
  std::shared_ptr<const std::vector<std::string>> only;
  std::string key;  // empty = any queue
  uint32_t urls_per_queue = UINT32_MAX;
  uint32_t queues = UINT32_MAX;
  uint32_t lease_seconds = limits::kUsualFrontierLeaseSeconds;
  Claim taker;  // the client's claim

  // Returns true if the pull takes URLs of this crawl id. Precondition: `crawl` is unset.
  [[nodiscard]] bool Serves(const std::string& name) const;

  bool over = false;  // no more URLs follow
  // The progress of the pull. Only FrontierState uses the following fields.
  uint64_t end = 0;  // queues with this turn or later are for later pulls; 0 = not begun
  CrawlRound round;  // used if `crawl` is unset
  FrontierQueueId queue;
  uint32_t left_in_queue = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_URLS_H_
