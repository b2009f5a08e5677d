// The committed changes of a shard, as a server that follows it takes them over.
#ifndef FRESHET_CORE_SCHEDULE_FOLLOWED_CHANGES_H_
#define FRESHET_CORE_SCHEDULE_FOLLOWED_CHANGES_H_

#include <string>
#include <vector>

#include "core/model/host.h"
#include "core/model/page.h"

namespace freshet {

// The committed changes of the owner of the records, for its followers: present records, no page or
// host twice, and no leases. Thread-compatible.
struct FollowedChanges {
  std::vector<PageRecord> pages;
  std::vector<PageNumber> removed_pages;
  std::vector<HostRecord> hosts;
  std::vector<std::string> removed_hosts;

  [[nodiscard]] bool empty() const {
    return pages.empty() && removed_pages.empty() && hosts.empty() && removed_hosts.empty();
  }
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_FOLLOWED_CHANGES_H_
