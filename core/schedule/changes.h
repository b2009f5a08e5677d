// The record changes that one batch of events makes: what the store must write, atomically, before
// anything is installed or acknowledged. Free of any store's types.
#ifndef FRESHET_CORE_SCHEDULE_CHANGES_H_
#define FRESHET_CORE_SCHEDULE_CHANGES_H_

#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/model/page.h"

namespace freshet {

// Configuration set at run time; survives restarts and then wins over flags and files.
struct Settings {
  std::optional<Rate> crawl_rate;     // unset: as configured
  std::optional<std::string> policy;  // unset: as configured
  bool paused = false;
  std::string pause_reason;  // empty: none was given, or not paused
  // Politeness of hosts that have none of their own. Unset: as configured.
  std::optional<Duration> min_delay;
  std::optional<uint32_t> max_in_flight;
  std::optional<Duration> min_page_interval;
  bool operator==(const Settings&) const = default;
};

// What the last finished epoch of a shard learned, so that a restart goes on with it. After a
// change of the number of shards it is learned anew; only the number stays.
struct EpochRecord {
  uint16_t shard = 0;
  uint64_t number = 0;
  Instant finished;
  std::string site_model;  // Estimator::SerialiseModel(), opaque to the store; empty: none
  bool operator==(const EpochRecord&) const = default;
};

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

// What whoever owns the records has committed, for those who follow: as it is now, and no page or
// host occurs twice. Leases are not part of it. Thread-compatible.
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

#endif  // FRESHET_CORE_SCHEDULE_CHANGES_H_
