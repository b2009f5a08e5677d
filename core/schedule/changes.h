// The record changes of one batch of events: the store must write them atomically before the shard
// installs or acknowledges anything. Free of any store's types.
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

// The least time before the last commit over which a closed or killed store still knows the
// assignment of each lease, ended or not: hosts with shorter delays need not be written with every
// assignment.
inline constexpr Duration kAssignmentsKept = Duration::Seconds(10);

// A page to be written. The owner of the Changes owns the record, which outlives the commit.
struct PageWrite {
  const PageRecord* record = nullptr;
  bool created = false;  // the store does not have it yet
};

// Thread-compatible. One Changes belongs to one slot owner: no page or host occurs twice.
struct Changes {
  uint16_t shard = 0;  // the owner
  // When the changes were made; none = not known. The store need not keep assignments from
  // kAssignmentsKept before.
  Instant now;
  std::vector<PageWrite> pages;
  std::vector<const PageRecord*> removed_pages;
  std::vector<HostRecord> hosts;
  std::vector<std::string>
      removed_hosts;  // no page has them, and none of `hosts` or `pages` names one
  // New or changed leases, ended ones included. If a lease occurs twice, the later counts.
  std::vector<LeaseRecord> leases;
  std::vector<LeaseId> closed_leases;  // no longer remembered either
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
