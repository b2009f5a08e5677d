// A host's cap on crawls, and the counts that enforce it.
//
// The cap allows at most `count` assignments in any time window of length `per`: every half-open
// window (t - per, t] has at most that many. Each assignment is therefore counted until it is `per`
// old. Assignments within the same sixteenth of `per` are counted together, at the instant of the
// last of them. This limits the memory to kMostCounts counts and instants. An assignment can be
// counted up to `per`/16 too long, but never too short. A host that always has pages due therefore
// gets at least 16/17 of `count` in the long run, whether its crawls come in bursts or evenly.
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
  Duration per;        // > 0 if there is a cap
  bool operator==(const CrawlCap&) const = default;
};

// Assignments that were counted together. Value type, thread-compatible.
struct CountedCrawls {
  Instant last;
  uint32_t count = 0;  // > 0
  bool operator==(const CountedCrawls&) const = default;
};

// Sorted by instant.
using RecentCrawls = std::vector<CountedCrawls>;
// Max entries of RecentCrawls. If there are more, the two oldest entries are merged into one with
// the later instant.
inline constexpr size_t kMostCounts = 18;

// Counts an assignment at `at`, and drops expired counts. If a later assignment was already
// counted, this one counts at the later instant. Precondition: there is a cap.
void CountCrawl(const CrawlCap& cap, Instant at, RecentCrawls* recent);

// Removes an assignment that was counted at `at`, unless its count has expired.
void UncountCrawl(Instant at, RecentCrawls* recent);

// The first instant at which the cap allows one more assignment; none = at once. `pending`
// assignments that are not counted yet precede that assignment, the last of them at `pending_at`.
[[nodiscard]] Instant CapAllows(const CrawlCap& cap, const RecentCrawls& recent, uint32_t pending,
                                Instant pending_at);

// The number of assignments that still count at `now`.
[[nodiscard]] uint64_t CountsAt(const CrawlCap& cap, const RecentCrawls& recent, Instant now);

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_CRAWL_CAP_H_
