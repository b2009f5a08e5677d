// Lists the URLs of a queue, or of all queues of a crawl id, in slices.
#ifndef FRESHET_SERVER_FRONTIER_FRONTIER_SCAN_H_
#define FRESHET_SERVER_FRONTIER_FRONTIER_SCAN_H_

#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "server/frontier/frontier.h"

namespace freshet {

// The URLs to scan. Value type, thread-compatible.
struct FrontierQuery {
  std::string crawl;
  std::string key;           // empty = all queues
  std::string filter;        // substring of the URL; empty = all URLs
  bool ignore_case = false;  // ASCII letters only
};

// The scan. Visits queues in the order of their keys, and the URLs of a queue in the order of their
// text. A URL that is put or removed during the scan may or may not be visited. Thread-compatible.
// Blocks on the frontier's thread.
class FrontierScan {
 public:
  // `frontier` must outlive this object.
  FrontierScan(Frontier& frontier, FrontierQuery query);

  static constexpr size_t kWeighsBytes = 512;  // a URL costs 1 more for each of these

  struct Found {
    FrontierQueueId queue;
    const std::string& key;
    std::string_view url;
    const FrontierItem& item;
  };
  // Reads on until the cost is `most`, and calls `visit` for URLs that match the query. A URL costs
  // 1, plus 1 for each kWeighsBytes of URL and metadata. Ends early if `visit` returns false, after
  // too many deleted rows (FrontierStore::kMostPassed), or after a search for more queues, because
  // that search waits for the frontier's thread.
  [[nodiscard]] Status Slice(size_t most, const std::function<bool(const Found&)>& visit);
  // Returns true if the scan is complete.
  [[nodiscard]] bool over() const { return over_; }

 private:
  struct Part {
    FrontierQueueId id;
    std::string key;
  };
  struct Look {
    std::vector<Part> parts;
    std::string last_key;  // key of the last queue that was checked
    bool all = true;
  };
  // Adds some more queues with URLs to parts_.
  [[nodiscard]] Status FindQueues();
  [[nodiscard]] bool Fits(std::string_view url) const;

  Frontier& frontier_;
  const FrontierQuery query_;
  const std::string filter_;  // in lower case if the query ignores case
  std::deque<Part> parts_;    // queues to be read; the first is being read
  std::string from_;          // where to continue in that queue
  std::string last_key_;      // key of the last queue that was checked
  bool found_all_ = false;
  bool over_ = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_SCAN_H_
