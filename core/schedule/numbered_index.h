// A price index for some of a shard's pages. It numbers its pages and hosts itself, so that it
// takes memory only for these.
#ifndef FRESHET_CORE_SCHEDULE_NUMBERED_INDEX_H_
#define FRESHET_CORE_SCHEDULE_NUMBERED_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/index/price_index.h"

namespace freshet {

// Owner thread only. The owner stores the number of each page.
class NumberedIndex {
 public:
  // Assigns a number to a page that has none here.
  [[nodiscard]] PageId Number(PageId page) {
    if (free_.empty()) {
      pages_.push_back(page);
      return PageId(static_cast<uint32_t>(pages_.size() - 1));
    }
    const PageId number = free_.back();
    free_.pop_back();
    pages_[number.value()] = page;
    return number;
  }
  void Remove(PageId number) {
    index.Remove(number);
    free_.push_back(number);
  }
  [[nodiscard]] PageId PageOf(PageId number) const { return pages_[number.value()]; }

  // The number of the host, and true if the number is new. If a shard reuses a HostId for another
  // host, the number is reused too.
  [[nodiscard]] std::pair<HostId, bool> NumberOf(HostId host) {
    const HostId next(static_cast<uint32_t>(hosts_.size()));
    const auto [it, first] = numbers_.try_emplace(host, next);
    if (first) hosts_.push_back(host);
    return {it->second, first};
  }
  // The number of a host. Precondition: the host has one.
  [[nodiscard]] HostId Known(HostId host) const { return numbers_.at(host); }
  [[nodiscard]] HostId HostOf(PageId number) const { return hosts_[index.HostOf(number).value()]; }
  // All hosts that have a number.
  [[nodiscard]] const std::vector<HostId>& hosts() const { return hosts_; }

  PriceIndex index;

 private:
  std::vector<PageId> pages_;  // by number
  std::vector<PageId> free_;   // page numbers that are not used
  std::vector<HostId> hosts_;  // by number
  absl::flat_hash_map<HostId, HostId> numbers_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_NUMBERED_INDEX_H_
