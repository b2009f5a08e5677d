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

// Modes by crawl id; crawl ids that are not here go by their clients' dates. Value type,
// thread-compatible.
using FrontierModeTable = std::map<std::string, FrontierMode, std::less<>>;

// The modes at one moment. Immutable, so that any thread may look while another has a newer one.
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
  // Whether all go by dates.
  [[nodiscard]] bool empty() const { return modes_.empty(); }
  [[nodiscard]] const std::vector<std::string>& scheduled() const { return scheduled_; }

 private:
  FrontierModeTable modes_;
  std::vector<std::string> scheduled_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_FRONTIER_MODES_H_
