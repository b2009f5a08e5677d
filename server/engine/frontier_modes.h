// The modes of crawl ids in the crawl-frontier API.
#ifndef FRESHET_SERVER_ENGINE_FRONTIER_MODES_H_
#define FRESHET_SERVER_ENGINE_FRONTIER_MODES_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/crawl.h"

namespace freshet {

// Modes by crawl id. Crawl ids that are not in the table have the mode kDates. Value type,
// thread-compatible.
using FrontierModeTable = std::map<std::string, FrontierMode, std::less<>>;

// The modes at one moment. Thread-safe, because it is immutable: a change of a mode makes a new
// object.
class FrontierModes {
 public:
  explicit FrontierModes(const FrontierModeTable& modes) : modes_(modes) {
    for (const auto& [crawl_id, mode] : modes) {
      if (mode == FrontierMode::kScheduled) scheduled_.push_back(crawl_id);
    }
  }

  [[nodiscard]] FrontierMode Of(std::string_view crawl_id) const {
    const auto it = modes_.find(crawl_id);
    return it == modes_.end() ? FrontierMode::kDates : it->second;
  }
  // Returns true if all crawl ids have the mode kDates.
  [[nodiscard]] bool empty() const { return modes_.empty(); }
  [[nodiscard]] const std::vector<std::string>& scheduled() const { return scheduled_; }

 private:
  FrontierModeTable modes_;
  std::vector<std::string> scheduled_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_FRONTIER_MODES_H_
