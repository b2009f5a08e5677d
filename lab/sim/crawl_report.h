// The lease and the report of simulated crawls, which are the same in every simulation.
#ifndef FRESHET_LAB_SIM_CRAWL_REPORT_H_
#define FRESHET_LAB_SIM_CRAWL_REPORT_H_

#include <string>

#include "core/base/check.h"
#include "lab/common/memory_shard.h"

namespace freshet {

// The length of a simulated lease. Its page is crawled at the moment of assignment.
inline constexpr Duration kSimulatedLease = Duration::Hours(1);

// Reports the crawl of a page that the shard has leased. Precondition: the lease is open.
inline void ReportLeased(MemoryShard& shard, const PageKey& key, LeaseId lease, Instant now,
                         CrawlOutcome outcome) {
  ReportCrawl report;
  report.key = key;
  report.lease = lease;
  report.fetched = now;
  report.outcome = outcome;
  const Reply reply = shard.Apply(report, now);
  CHECK(reply.disposition == Disposition::kApplied, "{}", std::string(reply.status.message()));
}

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_CRAWL_REPORT_H_
