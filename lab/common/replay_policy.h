// The policy that chooses pages when a history is replayed, in the simulator and for the rules of
// the demonstration.
#ifndef FRESHET_LAB_COMMON_REPLAY_POLICY_H_
#define FRESHET_LAB_COMMON_REPLAY_POLICY_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace freshet {

// A page and all its events, ready for a replay. Value type, thread-compatible. Invariants: touches
// are in order of time. All touches are after first_seen, and none is after gone_at.
struct ReplayPage {
  struct Touch {
    Instant at;
    bool changed = false;   // false = a minor touch, which crawls do not see
    bool signalled = true;  // false = the source does not report it
    bool dated = true;      // false = its signal has no time, so the time of arrival counts
    Duration delay;         // from `at` until the source can report it
  };
  std::string url;  // canonical
  std::string host;
  double importance = 0;
  Instant first_seen;
  std::vector<Touch> touches;
  Instant gone_at = Instant::Infinite();  // from then on crawls find the page gone
};

// The signal of one poll for one page. Value type, thread-compatible.
struct ReplaySignal {
  size_t page = 0;
  Instant changed;  // newest touch that the source reports, as a sitemap's lastmod
};

// A policy in a replay. A page is identified by its position in the history. Calls are made in
// order of time. At the same instant, pages appear first, then signals arrive, then the crawl
// happens. Owner thread only.
class ReplayPolicy {
 public:
  ReplayPolicy() = default;
  virtual ~ReplayPolicy() = default;
  ReplayPolicy(const ReplayPolicy&) = delete;
  ReplayPolicy& operator=(const ReplayPolicy&) = delete;

  // Adds a page, whose copy is fresh.
  virtual void Add(size_t page, Instant now) = 0;
  // Receives the signals of one poll, at most one for each page.
  virtual void Signal(std::span<const ReplaySignal> poll, Instant now) = 0;
  // Returns the page to crawl now; nullopt = no page is worth a crawl, and the tick stays unused.
  // Precondition: a page was added.
  [[nodiscard]] virtual std::optional<size_t> Pick(Instant now) = 0;
  // Reports a crawl, and whether the content differs from that of the previous crawl.
  virtual void Crawled(size_t page, Instant now, bool changed) = 0;
  // Reports a crawl that found that the page is permanently gone.
  virtual void Gone(size_t page, Instant now) { Crawled(page, now, false); }
};

}  // namespace freshet

#endif  // FRESHET_LAB_COMMON_REPLAY_POLICY_H_
