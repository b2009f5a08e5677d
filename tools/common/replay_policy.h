// What chooses pages in a replay of history: the simulator's, and the demonstration's of the rules
// that it compares with.
#ifndef FRESHET_TOOLS_COMMON_REPLAY_POLICY_H_
#define FRESHET_TOOLS_COMMON_REPLAY_POLICY_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace freshet {

// A page and all that happens to it, ready for a replay. Value type, thread-compatible.
// Invariants: touches in order of time, all after first_seen and none after gone_at.
struct ReplayPage {
  struct Touch {
    Instant at;
    bool changed = false;   // else a minor touch, which a crawl does not see
    bool signalled = true;  // else its source keeps silent about it
    bool dated = true;      // else its signal does not tell when, which is taken as when it came
    Duration delay;         // how long after `at` the source can tell of it
  };
  std::string url;  // canonical
  std::string host;
  double importance = 0;
  Instant first_seen;
  std::vector<Touch> touches;
  Instant gone_at = Instant::Infinite();  // from then on a crawl finds nothing
};

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
  // That crawl happened, and the page is gone for good.
  virtual void Gone(size_t page, Instant now) { Crawled(page, now, false); }
};

}  // namespace freshet

#endif  // FRESHET_TOOLS_COMMON_REPLAY_POLICY_H_
