// The record changes of one batch of events. The store must write them atomically before the shard
// installs them or acknowledges anything. Does not depend on the types of any store.
#ifndef FRESHET_CORE_SCHEDULE_CHANGES_H_
#define FRESHET_CORE_SCHEDULE_CHANGES_H_

#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/model/crawl.h"
#include "core/model/epoch.h"
#include "core/model/host.h"
#include "core/model/lease.h"
#include "core/model/settings.h"
#include "core/model/source.h"

namespace freshet {

struct PageRecord;

// A store that is killed still knows every assignment made in this period before its last commit,
// even if the lease has ended. If the delay of a host is shorter than this, the host's record
// therefore need not be written at every assignment.
inline constexpr Duration kAssignmentsKept = Duration::Seconds(10);

// A page to write. The record belongs to the owner of the Changes, and outlives the commit.
struct PageWrite {
  const PageRecord* record = nullptr;
  bool created = false;  // the store does not have the page yet
};

// The changes of one shard. No page or host occurs twice. Thread-compatible.
struct Changes {
  uint16_t shard = 0;  // the shard that owns the records
  // When the changes were made; none = not known. The store can drop assignments made more than
  // kAssignmentsKept before this instant.
  Instant now;
  std::vector<PageWrite> pages;
  std::vector<const PageRecord*> removed_pages;
  std::vector<HostRecord> hosts;
  std::vector<std::string>
      removed_hosts;  // hosts without pages; none of `hosts` or `pages` names one of them
  // New or changed leases, including ended ones. If a lease occurs twice, the later entry applies.
  std::vector<LeaseRecord> leases;
  std::vector<LeaseId> closed_leases;  // ended leases that are no longer remembered
  std::vector<SourceRecord> sources;
  std::vector<CrawlRecord> crawls;
  std::vector<std::string> removed_crawls;  // crawl ids, none of which is in `crawls`
  std::optional<Settings> settings;
  std::optional<EpochRecord> epoch;

  [[nodiscard]] bool empty() const {
    return pages.empty() && removed_pages.empty() && hosts.empty() && removed_hosts.empty() &&
           leases.empty() && closed_leases.empty() && sources.empty() && crawls.empty() &&
           removed_crawls.empty() && !settings && !epoch;
  }
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_CHANGES_H_
