// How often a host may be crawled at most, and what is counted for it.
//
// At most `count` assignments in any span of the length `per`, wherever it begins: every half-open
// window (t - per, t] has no more. For this each assignment is counted until it is `per` old.
// Assignments that are close, within a sixteenth of `per`, are counted together, all at the instant
// of the last of them: what is kept is small, at most kMostCounts numbers and instants, and an
// assignment counts for up to a sixteenth of `per` too long, never too short. So a host that is due
// all the time gets at least 16/17 of the count in the long run, at once or spread as it comes.
#ifndef FRESHET_CORE_MODEL_CRAWL_CAP_H_
#define FRESHET_CORE_MODEL_CRAWL_CAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace freshet {

// Value type, thread-compatible.
struct CrawlCap {
  uint32_t count = 0;  // 0: no cap
  Duration per;        // > 0 where there is a cap
  bool operator==(const CrawlCap&) const = default;
};

// Assignments that were counted together. Value type, thread-compatible.
struct CountedCrawls {
  Instant last;
  uint32_t count = 0;  // > 0
  bool operator==(const CountedCrawls&) const = default;
};

// By rising instants.
using RecentCrawls = std::vector<CountedCrawls>;
// Counts of what was assigned of late; more are merged, to the later instant.
inline constexpr size_t kMostCounts = 18;

// Counts an assignment at `at`, and forgets what does not count any more. One that is told after a
// later one counts as at that. Precondition: there is a cap.
void CountCrawl(const CrawlCap& cap, Instant at, RecentCrawls* recent);

// An assignment that was counted at `at` came to nothing; does nothing where it does not count any
// more.
void UncountCrawl(Instant at, RecentCrawls* recent);

// When one more assignment keeps to the cap, where `pending` more than were counted are about to
// be, the last of them at `pending_at`; none: at once.
[[nodiscard]] Instant CapAllows(const CrawlCap& cap, const RecentCrawls& recent, uint32_t pending,
                                Instant pending_at);

// How many count at `now`.
[[nodiscard]] uint64_t CountsAt(const CrawlCap& cap, const RecentCrawls& recent, Instant now);

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_CRAWL_CAP_H_
