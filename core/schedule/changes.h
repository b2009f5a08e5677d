// The record changes that one batch of events makes: what the store must write, atomically, before
// anything is installed or acknowledged. Free of any store's types.
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

// How long, at least, a store that is closed or killed knows of each lease when its page was
// assigned, whether or not the lease is over, counted to the last commit: hosts with shorter delays
// need not be written with every assignment.
inline constexpr Duration kAssignmentsKept = Duration::Seconds(10);

// A page to be written. The record is owned by whoever owns the Changes and outlives the commit.
struct PageWrite {
  const PageRecord* record = nullptr;
  bool created = false;  // the store does not have it yet
};

// Thread-compatible. One Changes belongs to one slot owner: no page or host occurs twice.
struct Changes {
  uint16_t shard = 0;  // the owner
  // When they were made; none: not known. What was assigned kAssignmentsKept before need not be.
  Instant now;
  std::vector<PageWrite> pages;
  std::vector<const PageRecord*> removed_pages;
  std::vector<HostRecord> hosts;
  std::vector<std::string>
      removed_hosts;  // no page has them, and none of `hosts` or `pages` names one
  // New or changed, those that are over included. Of one that occurs twice the later counts.
  std::vector<LeaseRecord> leases;
  std::vector<LeaseId> closed_leases;  // not even remembered any more
  std::vector<SourceRecord> sources;
  std::vector<CrawlRecord> crawls;
  std::vector<std::string> removed_crawls;  // crawl ids; none of `crawls` is one
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
