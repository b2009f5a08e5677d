// What one page keeps for its estimates: a bounded window of crawl observations and fading sums of
// what fell out of it. Never the whole history.
#ifndef FRESHET_CORE_ESTIMATE_PAGE_STATISTICS_H_
#define FRESHET_CORE_ESTIMATE_PAGE_STATISTICS_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/model/signal.h"

namespace freshet {

// One crawl and the interval before it. Value type, thread-compatible.
struct CrawlObservation {
  Instant fetched;
  Duration elapsed;  // since the crawl before (or since first seen, where the content was known)
  SignalCounts signals;  // that fell into the interval and were applied
  // Operational seconds of the interval (core/estimate/operational_time.h). Filled in by
  // Estimator::RecordCrawl, whatever the caller sets.
  float exposure = 0;
  bool changed = false;  // the crawl found other content than the crawl before
  bool operator==(const CrawlObservation&) const = default;
};

// Value type, thread-compatible. Invariant: `recent` is in order of fetch time and holds at most
// limits::kMaxObservations entries.
struct PageStatistics {
  std::vector<CrawlObservation> recent;
  // What left the window: unsignalled changes and the operational seconds in which they could be
  // seen, both fading, as of `recent.front().fetched`.
  float old_changes = 0;
  float old_exposure = 0;
  bool operator==(const PageStatistics&) const = default;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_PAGE_STATISTICS_H_
