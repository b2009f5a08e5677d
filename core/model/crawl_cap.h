// The cap on crawls of a host, and the counts that it needs.
//
// At most `count` assignments in any span of the length `per`, wherever it begins: every half-open
// window (t - per, t] has no more. For this each assignment is counted until it is `per` old.
// Assignments that are close, within a sixteenth of `per`, are counted together, all at the instant
// of the last of them. So at most kMostCounts numbers and instants are kept, and an assignment
// counts for up to a sixteenth of `per` too long, never too short. So a host that is due all the
// time gets at least 16/17 of the count in the long run, at once or spread.
#ifndef FRESHET_CORE_MODEL_CRAWL_CAP_H_
#define FRESHET_CORE_MODEL_CRAWL_CAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace freshet {

// Value type, thread-compatible.
struct CrawlCap {
  uint32_t count = 0;  // 0 = no cap
  Duration per;        // > 0 where there is a cap
  bool operator==(const CrawlCap&) const = default;
};

// Assignments that were counted together. Value type, thread-compatible.
struct CountedCrawls {
  Instant last;
  uint32_t count = 0;  // > 0
  bool operator==(const CountedCrawls&) const = default;
};

// In the order of their instants.
using RecentCrawls = std::vector<CountedCrawls>;
// Max entries of RecentCrawls; older ones are merged, at the later instant.
inline constexpr size_t kMostCounts = 18;

// Counts an assignment at `at`, and drops counts that have expired. An assignment reported after a
// later one counts at the later instant. Precondition: there is a cap.
void CountCrawl(const CrawlCap& cap, Instant at, RecentCrawls* recent);

// Takes back an assignment that was counted at `at`, unless its count has expired.
void UncountCrawl(Instant at, RecentCrawls* recent);

// The first instant at which one more assignment keeps to the cap; none = at once. `pending`
// uncounted assignments come before it, the last of them at `pending_at`.
[[nodiscard]] Instant CapAllows(const CrawlCap& cap, const RecentCrawls& recent, uint32_t pending,
                                Instant pending_at);

// The number of assignments that count at `now`.
[[nodiscard]] uint64_t CountsAt(const CrawlCap& cap, const RecentCrawls& recent, Instant now);

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_CRAWL_CAP_H_
