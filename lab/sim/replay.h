// Replays real histories: pages appear, change and are signalled as they did. A policy that does
// not know the future makes a constant number of crawls a day. Its score is the share of time in
// which its copies are fresh.
#ifndef FRESHET_LAB_SIM_REPLAY_H_
#define FRESHET_LAB_SIM_REPLAY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "lab/common/history.h"
#include "lab/common/replay_policy.h"

namespace freshet {

struct ReplayOptions {
  double crawls_per_day = 0;  // of all pages together; finite, > 0
  // The signal source is polled at every multiple of this since the Unix epoch; 0 = signals arrive
  // at once.
  Duration signal_delay = Duration::Days(1);
  double signal_recall = 1;  // probability in [0, 1] that a content change is signalled
  // The beginning and the end of the replay; unset = the first page, and the last touch.
  std::optional<Instant> from;
  std::optional<Instant> to;
  uint64_t seed = 1;
  // Settled freshness counts from here on; unset = never.
  std::optional<Instant> count_from;
};

struct ReplayResult {
  size_t pages = 0;
  uint64_t crawls = 0;
  double freshness = 0;           // share of page-time in which the copy was fresh
  double weighted_freshness = 0;  // the same, weighted by importance
  double changed_share = 0;       // share of crawls that found a change; 0 without crawls
  // Both kinds of freshness from ReplayOptions::count_from on; NaN = there is no page-time after
  // that.
  double settled_freshness = 0;
  double settled_weighted_freshness = 0;
};

// Returns the pages of a history, ordered by first_seen, then by their order in the file. Touches
// that are not after first_seen are dropped, because the page first has the content of that time.
// InvalidArgument: a URL has no canonical form.
[[nodiscard]] StatusOr<std::vector<ReplayPage>> PrepareReplay(
    const std::vector<HistoryPage>& history);

// Returns the time of the first poll at or after `at`. Polls come at multiples of `period` since
// the Unix epoch. If `period` is 0, returns `at`.
[[nodiscard]] Instant NextPoll(Instant at, Duration period);

// The span of a replay. Value type, thread-compatible.
struct ReplaySpan {
  Instant begin;
  Instant end;
};

// Returns the span of a replay of `pages`, at least one. InvalidArgument: options are out of range,
// or no page exists in the span.
[[nodiscard]] StatusOr<ReplaySpan> SpanOf(const std::vector<ReplayPage>& pages,
                                          const ReplayOptions& options);

// Replays `pages`, at least one. A page exists from its first_seen, or from the beginning of the
// span if that is later, and is fresh then. The page is stale from its first content change after
// the last crawl until the next crawl. The k-th crawl happens at begin + k days / crawls_per_day, k
// = 1, 2, ... (none while no page exists). A gone page counts neither as fresh nor as stale, but
// the policy learns this only from a crawl. All signalled touches are signals, even minor ones. The
// signal of a content change is dropped with probability 1 - signal_recall. A hash of seed, page
// and touch decides this, so that every policy sees the same signals. Errors: from SpanOf.
[[nodiscard]] StatusOr<ReplayResult> Replay(const std::vector<ReplayPage>& pages,
                                            const ReplayOptions& options, ReplayPolicy& policy);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_REPLAY_H_
