// The options of a shard.
#ifndef FRESHET_CORE_SCHEDULE_SHARD_OPTIONS_H_
#define FRESHET_CORE_SCHEDULE_SHARD_OPTIONS_H_

#include <cstdint>
#include <memory>

#include "core/base/fingerprint.h"
#include "core/base/id_limits.h"
#include "core/base/units.h"
#include "core/estimate/estimator_options.h"
#include "core/schedule/crawl_policy.h"
#include "core/schedule/domain.h"
#include "core/schedule/host_backoff.h"
#include "core/schedule/host_terms.h"

namespace freshet {

class HostRules;
class Quota;

// Value type, thread-compatible.
struct ShardOptions {
  CrawlPolicy policy;
  EstimatorOptions estimator;
  PolitenessDefaults politeness;
  HostBackoff host_backoff;
  std::shared_ptr<const HostRules> host_rules;        // nullptr = none
  Duration max_crawl_delay = Duration::Seconds(300);  // longest delay that robots.txt can set
  // The wait of a page after a failed crawl. It doubles with each further failure in a row.
  Duration error_backoff = Duration::Seconds(60);
  Duration max_error_backoff = Duration::Days(7);
  // The wait of a page after an unanswered lease. It doubles with each further one in a row. From
  // the max_unanswered-th on, the page waits as long as after a successful crawl.
  Duration lease_backoff = Duration::Seconds(60);
  Duration max_lease_backoff = Duration::Hours(1);
  uint32_t max_unanswered = 5;
  // The wait before a gone page is crawled again. It doubles with each further crawl that does not
  // find the page.
  Duration gone_backoff = Duration::Hours(1);
  Duration max_gone_backoff = Duration::Days(30);
  // The wait of a page that robots.txt forbids. It doubles with each further refusal in a row.
  Duration robots_backoff = Duration::Days(1);
  Duration max_robots_backoff = Duration::Days(30);
  bool retire_moved = false;  // moved pages are not crawled again
  // greedy_ncis_d discards signals that arrive within this time after a crawl (T_delay).
  Duration signal_delay;
  uint64_t max_pages = limits::kMaxPagesPerShard;
  // The maximum number of pages of one host. `host_quota` is the maximum number of hosts over all
  // shards. New pages beyond either maximum are refused.
  uint64_t max_pages_per_host = UINT64_MAX;
  std::shared_ptr<Quota> host_quota;      // nullptr = no limit
  RegistrableDomain domain_of = nullptr;  // nullptr = every host counts as a domain
  uint16_t shard = 0;
  // A part of lease ids, so that they differ between runs. The store provides it.
  uint32_t generation = 1;
  Fingerprinter fingerprinter;  // has the secret of the store
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SHARD_OPTIONS_H_
