// A walk through the URLs of a queue, or of all queues of a crawl id, in slices.
#ifndef FRESHET_SERVER_FRONTIER_FRONTIER_SCAN_H_
#define FRESHET_SERVER_FRONTIER_FRONTIER_SCAN_H_

#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "server/frontier/frontier.h"

namespace freshet {

// Which URLs. Value type, thread-compatible.
struct FrontierQuery {
  std::string crawl;
  std::string key;           // empty: of all queues
  std::string filter;        // text that is in the URL
  bool ignore_case = false;  // of the letters of ASCII
};

// Queues come in the order of their keys and URLs in that of their text. What is put or forgotten
// meanwhile may be seen or not. Thread-compatible; waits for the frontier.
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
  // Looks at up to `most` URLs more, one that has kWeighsBytes counting twice and so on, and calls
  // `visit` for those that fit; ends sooner when that returns false. What it takes to find queues
  // counts as well.
  [[nodiscard]] Status Slice(size_t most, const std::function<bool(const Found&)>& visit);
  // There is nothing more.
  [[nodiscard]] bool over() const { return over_; }

 private:
  struct Part {
    FrontierQueueId id;
    std::string key;
  };
  struct Look {
    std::vector<Part> parts;
    std::string last_key;  // of those that were looked at
    bool all = true;
  };
  // Some more of those that have URLs.
  [[nodiscard]] Status FindQueues();
  [[nodiscard]] bool Fits(std::string_view url) const;

  Frontier& frontier_;
  const FrontierQuery query_;
  const std::string filter_;  // as it is compared
  std::deque<Part> parts_;    // to be read, the first at hand
  std::string after_;         // the last URL of it that was looked at
  std::string last_key_;      // of those that were looked at
  bool found_all_ = false;
  bool over_ = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_SCAN_H_
