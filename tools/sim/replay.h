// Replays real histories: pages appear, change and are signalled as they did, a policy that knows
// none of it in advance spends a constant number of crawls a day, and what counts is how much of
// the time its copies were fresh.
#ifndef FRESHET_TOOLS_SIM_REPLAY_H_
#define FRESHET_TOOLS_SIM_REPLAY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "tools/common/history.h"
#include "tools/common/replay_policy.h"

namespace freshet {

struct ReplayOptions {
  double crawls_per_day = 0;  // of all pages together; finite, > 0
  // The signal source is polled at every multiple of this since the Unix epoch; zero: a signal
  // arrives at once.
  Duration signal_delay = Duration::Days(1);
  double signal_recall = 1;  // probability in [0, 1] that a content change is signalled
  // The span that is replayed. Unset: from the first page on, to the last touch.
  std::optional<Instant> from;
  std::optional<Instant> to;
  uint64_t seed = 1;
  // From here on the settled freshness counts; unset: nowhere.
  std::optional<Instant> count_from;
};

struct ReplayResult {
  size_t pages = 0;
  uint64_t crawls = 0;
  double freshness = 0;           // share of page-time in which the copy was fresh
  double weighted_freshness = 0;  // the same, pages weighted by importance
  double changed_share = 0;       // of the crawls; 0 without crawls
  // Both freshnesses from ReplayOptions::count_from on; NaN where no page-time is left after it.
  double settled_freshness = 0;
  double settled_weighted_freshness = 0;
};

// The pages of a history, in order of first_seen, of equal ones in that of the file. Touches that
// are not after first_seen are dropped: the page is first known with the content it had then.
// InvalidArgument for a URL that has no canonical form.
[[nodiscard]] StatusOr<std::vector<ReplayPage>> PrepareReplay(
    const std::vector<HistoryPage>& history);

// The first poll that is not before `at`: polls are at the multiples of `period` since the Unix
// epoch; at a period of zero, `at` itself.
[[nodiscard]] Instant NextPoll(Instant at, Duration period);

// From when to when a replay goes. Value type, thread-compatible.
struct ReplaySpan {
  Instant begin;
  Instant end;
};

// The span of a replay of `pages`, at least one. InvalidArgument for options out of their range or
// a span in which no page exists.
[[nodiscard]] StatusOr<ReplaySpan> SpanOf(const std::vector<ReplayPage>& pages,
                                          const ReplayOptions& options);

// Replays `pages`, at least one. Semantics: a page exists from its first_seen, or from the begin of
// the span if that is later, and is fresh then. It is stale from its first content change after the
// last crawl until the next crawl. The k-th crawl happens at begin + k days / crawls_per_day, k =
// 1, 2, ... (none while no page exists). A page that is gone counts no more, neither as fresh nor
// as stale, but nobody is told before a crawl finds out. Signals are all touches that are
// signalled, minor ones included; a content change is not signalled with probability 1 -
// signal_recall either, decided by a hash of seed, page and touch alone, so that every policy sees
// the same signals. Errors as SpanOf.
[[nodiscard]] StatusOr<ReplayResult> Replay(const std::vector<ReplayPage>& pages,
                                            const ReplayOptions& options, ReplayPolicy& policy);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_REPLAY_H_
