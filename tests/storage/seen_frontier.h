#ifndef FRESHET_TESTS_STORAGE_SEEN_FRONTIER_H_
#define FRESHET_TESTS_STORAGE_SEEN_FRONTIER_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "storage/frontier_store.h"

namespace freshet {

// Collects the rows of Load, as text.
class SeenFrontier final : public FrontierVisitor {
 public:
  std::vector<std::string> lines;

  Status OnSettings(const FrontierSettings& settings) override {
    return Add("settings {} {}", settings.default_delay, settings.active);
  }
  Status OnCrawl(uint32_t crawl, std::string_view name) override {
    return Add("crawl {} {}", crawl, name);
  }
  Status OnQueue(FrontierQueueId queue, FrontierQueueRecord record) override {
    return Add("queue {} {} {}: {} {} head {} {} delay {} blocked {} limit {} served {}{}",
               queue.crawl, queue.queue, record.key, record.active, record.completed,
               record.head ? record.head->due : 0, record.head ? record.head->url : "none",
               record.delay ? std::to_string(*record.delay) : "none", record.blocked_until,
               record.limit, record.last_served, Asked(record));
  }
  Status OnLease(FrontierQueueId queue, std::string_view url, const FrontierLease& lease) override {
    return Add("lease {} {} {}: {} {}", queue.crawl, queue.queue, url, lease.until, lease.due);
  }

 private:
  // Returns settings that clients without the operator's role have asked for; "" = none.
  static std::string Asked(const FrontierQueueRecord& record) {
    if (!record.asked_delay && record.asked_until == 0) return "";
    return fmt::format(" asked {} {}", record.asked_delay.value_or(0), record.asked_until);
  }
  template <typename... Args>
  Status Add(fmt::format_string<Args...> format, Args&&... args) {
    lines.push_back(fmt::format(format, std::forward<Args>(args)...));
    return absl::OkStatus();
  }
};

}  // namespace freshet

#endif  // FRESHET_TESTS_STORAGE_SEEN_FRONTIER_H_
