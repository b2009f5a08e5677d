// URLs of the crawl-frontier API as clients put and get them.
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

// The result of a fetch, as the metadata of a known URL tell it.
struct FrontierFetch {
  int http_status = 0;  // 0 = not told
  std::string digest;   // empty = not told
};

// A URL that a client puts. Crawl id and key are not empty.
struct FrontierPut {
  std::string crawl;
  std::string key;
  std::string url;
  std::string metadata;
  bool known = false;  // else discovered
  uint64_t due = 0;    // when a known URL is due, in seconds since 1970; 0 = never again
  Claim claim;         // the client's claim
  // Whether the client may report the result of a fetch. If not, the URL's data changes, but a
  // client that has it in flight keeps it.
  bool reports = true;
  FrontierFetch fetch;  // for the page of the URL
};

enum class FrontierOutcome : uint8_t {
  kOk,
  kKnown,    // already known, and to be given out some time: not to be sent again
  kSkipped,  // already known, but never to be given out; or too large
  kFailed,   // not taken for now
};

// A URL that was given out.
struct FrontierServed {
  FrontierQueueId queue;
  uint64_t serial = 0;  // serial of its flight
  std::string crawl;
  std::string key;
  std::string url;
  std::string metadata;
  LeaseId lease;  // lease of the page, if Freshet schedules the crawl id, instead of a flight; 0 =
                  // none
};

// The bytes that it takes to hold the URL for its client.
[[nodiscard]] inline size_t BytesOf(const FrontierServed& served) {
  return sizeof(FrontierServed) + served.crawl.size() + served.key.size() + served.url.size() +
         served.metadata.size();
}
// Adds the bytes of another URL of a pull, if it is the first or there is room for it.
[[nodiscard]] inline bool AddBytes(size_t more, size_t* bytes) {
  if (*bytes > 0 && *bytes + more > limits::kMaxBytesPerPull) return false;
  *bytes += more;
  return true;
}

// A URL by its names.
struct FrontierName {
  std::string crawl;
  std::string key;
  std::string url;
};

// A client's request for URLs, and its progress. Value type, thread-compatible.
struct FrontierPull {
  std::optional<std::string> crawl;  // unset = any, in turn
  // If `crawl` is unset: crawl ids to skip, because the client serves them itself; nullptr = skip
  // none.
  std::shared_ptr<const std::vector<std::string>> except;
  std::shared_ptr<const std::vector<std::string>> only;  // if `crawl` is unset: the only ones;
                                                         // nullptr = all
  std::string key;                                       // empty = any queue
  uint32_t urls_per_queue = UINT32_MAX;
  uint32_t queues = UINT32_MAX;
  uint32_t lease_seconds = limits::kUsualFrontierLeaseSeconds;
  Claim taker;  // the client's claim

  // Whether the pull takes URLs of this crawl id, if `crawl` is unset.
  [[nodiscard]] bool Serves(const std::string& name) const;

  bool over = false;  // nothing more comes
  // The progress, used by the state alone:
  uint64_t end = 0;  // queues with later turns are for other pulls
  CrawlRound round;  // if `crawl` is unset
  FrontierQueueId queue;
  uint32_t left_in_queue = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_URLS_H_
