// The committed changes of a shard, in the form that a standby server takes over.
#ifndef FRESHET_CORE_SCHEDULE_FOLLOWED_CHANGES_H_
#define FRESHET_CORE_SCHEDULE_FOLLOWED_CHANGES_H_

#include <string>
#include <vector>

#include "core/model/host.h"
#include "core/model/page.h"

namespace freshet {

// Committed changes of the shard that owns the records, for its standbys. They contain the current
// records but no leases. No page or host occurs twice. Thread-compatible.
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
