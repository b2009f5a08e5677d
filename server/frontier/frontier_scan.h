// Scans the URLs of a queue, or of all queues of a crawl id, in slices.
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
  std::string filter;        // text within the URL
  bool ignore_case = false;  // ASCII letters only
};

// The scan. Queues come in the order of their keys, URLs in that of their text. URLs put or removed
// during the scan may be seen or not. Thread-compatible; waits for the frontier.
class FrontierScan {
 public:
  // `frontier` outlives it.
  FrontierScan(Frontier& frontier, FrontierQuery query);

  static constexpr size_t kWeighsBytes = 512;  // of URL and metadata

  struct Found {
    FrontierQueueId queue;
    const std::string& key;
    std::string_view url;
    const FrontierItem& item;
  };
  // Looks at up to `most` URLs more, a URL of kWeighsBytes counting twice and so on, and calls
  // `visit` for the fitting ones. Ends early when that returns false, or after enough deleted rows
  // (FrontierStore::kMostPassed). Finding queues counts as well.
  [[nodiscard]] Status Slice(size_t most, const std::function<bool(const Found&)>& visit);
  // Whether the scan is complete.
  [[nodiscard]] bool over() const { return over_; }

 private:
  struct Part {
    FrontierQueueId id;
    std::string key;
  };
  struct Look {
    std::vector<Part> parts;
    std::string last_key;  // last one looked at
    bool all = true;
  };
  // Finds some more queues with URLs.
  [[nodiscard]] Status FindQueues();
  [[nodiscard]] bool Fits(std::string_view url) const;

  Frontier& frontier_;
  const FrontierQuery query_;
  const std::string filter_;  // as it is compared
  std::deque<Part> parts_;    // to be read, the first one being read
  std::string from_;          // the first text in it still to be looked at
  std::string last_key_;      // last one looked at
  bool found_all_ = false;
  bool over_ = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_SCAN_H_
