// Replays real histories: pages appear, change and are signalled as they did, a policy that knows
// none of it in advance spends a constant number of crawls a day, and what counts is how much of
// the time its copies were fresh.
#ifndef FRESHET_TOOLS_SIM_REPLAY_H_
#define FRESHET_TOOLS_SIM_REPLAY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "tools/common/history.h"

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
};

struct ReplayResult {
  size_t pages = 0;
  uint64_t crawls = 0;
  double freshness = 0;           // share of page-time in which the copy was fresh
  double weighted_freshness = 0;  // the same, pages weighted by importance
  double changed_share = 0;       // of the crawls; 0 without crawls
};

// A page and all that happens to it, ready for a replay. Value type, thread-compatible.
// Invariants: touches in order of time, all after first_seen.
struct ReplayPage {
  struct Touch {
    Instant at;
    bool changed = false;  // else a minor touch, which a crawl does not see
  };
  std::string url;  // canonical
  std::string host;
  double importance = 0;
  Instant first_seen;
  std::vector<Touch> touches;
};

// The pages of a history, in order of first_seen, of equal ones in that of the file. Touches that
// are not after first_seen are dropped: the page is first known with the content it had then.
// InvalidArgument for a URL that has no canonical form.
[[nodiscard]] StatusOr<std::vector<ReplayPage>> PrepareReplay(
    const std::vector<HistoryPage>& history);

// What one poll says of one page. Value type, thread-compatible.
struct ReplaySignal {
  size_t page = 0;
  Instant changed;  // time of the newest touch that the source tells of, as a sitemap's lastmod
};

// A policy under replay. Pages are named by their position in the history. Calls come in order of
// time; at one instant pages appear before signals arrive before the crawl. Owner thread only.
class ReplayPolicy {
 public:
  ReplayPolicy() = default;
  virtual ~ReplayPolicy() = default;
  ReplayPolicy(const ReplayPolicy&) = delete;
  ReplayPolicy& operator=(const ReplayPolicy&) = delete;

  // The page is known from now on and its copy is fresh.
  virtual void Add(size_t page, Instant now) = 0;
  // What one poll found. At most one signal a page.
  virtual void Signal(std::span<const ReplaySignal> poll, Instant now) = 0;
  // The page to crawl now; nullopt: none is worth a crawl, and the tick goes unused. Precondition:
  // some page was added.
  [[nodiscard]] virtual std::optional<size_t> Pick(Instant now) = 0;
  // That crawl happened, and whether it found other content than the crawl before.
  virtual void Crawled(size_t page, Instant now, bool changed) = 0;
};

// Replays `pages`, at least one. Semantics: a page exists from its first_seen, or from the begin of
// the span if that is later, and is fresh then. It is stale from its first content change after the
// last crawl until the next crawl. The k-th crawl happens at begin + k days / crawls_per_day, k =
// 1, 2, ... (none while no page exists). Signals are all touches, minor ones included; a content
// change is not signalled with probability 1 - signal_recall, decided by a hash of seed, page and
// touch alone, so that every policy sees the same signals. InvalidArgument for options out of their
// range or a span in which no page exists.
[[nodiscard]] StatusOr<ReplayResult> Replay(const std::vector<ReplayPage>& pages,
                                            const ReplayOptions& options, ReplayPolicy& policy);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_REPLAY_H_
