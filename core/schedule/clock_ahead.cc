#include "core/schedule/clock_ahead.h"

#include <algorithm>

#include "core/model/host.h"
#include "core/model/lease.h"
#include "core/model/page.h"

namespace freshet {
namespace {

// Returns a lower bound of the time at which the state was written. The times compared here were
// not in the future then.
Instant WrittenAt(const PageState& page) {
  return std::max({page.first_seen, page.last_crawl, page.carried_at, page.last_event});
}

// Moves the end of a wait that began while the clock was ahead. A wait that has ended is unchanged.
void MoveEnd(Duration ahead, Instant now, Instant* end) {
  if (*end > now && !end->infinite()) *end = std::max(now, *end - ahead);
}

}  // namespace

Duration AheadOf(Instant now, const PageState& page) {
  const Duration ahead = WrittenAt(page) - now;
  return ahead > kClocksDiffer ? ahead : Duration();
}

Duration CapAtNow(Instant now, PageState* page) {
  const Duration ahead = WrittenAt(*page) - now;
  if (ahead <= Duration()) return {};
  MoveEnd(ahead, now, &page->retry_at);
  for (Instant* time : {&page->first_seen, &page->last_crawl, &page->carried_at, &page->last_event,
                        &page->newest_claim}) {
    *time = std::min(*time, now);
  }
  return ahead;
}

Duration CapAtNow(Instant now, PageRecord* page) {
  const Duration ahead = CapAtNow(now, &page->state);
  if (ahead == Duration()) return ahead;
  for (SourceClaim& claim : page->detail.claims) claim.newest = std::min(claim.newest, now);
  std::erase_if(page->detail.statistics.recent,
                [&](const CrawlObservation& observation) { return observation.fetched > now; });
  return ahead;
}

Duration CapAtNow(Instant now, LeaseRecord* lease) {
  const Duration ahead = lease->assigned - now;
  // A lease can be slightly ahead although no clock was wrong: `assigned` is the time of its tick,
  // and the lease is made earlier.
  if (ahead <= kClocksDiffer) return {};
  lease->assigned = now;
  MoveEnd(ahead, now, &lease->deadline);
  for (LeaseSignal& signal : lease->signals) signal.time = std::min(signal.time, now);
  return ahead;
}

Duration CapAtNow(Instant now, HostRecord* host) {
  const Duration ahead = host->last_throttled - now;
  if (ahead > Duration()) {
    host->last_throttled = now;
    MoveEnd(ahead, now, &host->blocked_until);
  }
  const Duration assigned = host->last_assignment - now;
  host->last_assignment = std::min(host->last_assignment, now);
  for (CountedCrawls& counted : host->recent_crawls) counted.last = std::min(counted.last, now);
  return std::max({ahead, assigned, Duration()});
}

}  // namespace freshet
