// The statistics of one page: a bounded window of crawl observations, and fading sums of older
// observations. The full history is never kept.
#ifndef FRESHET_CORE_MODEL_PAGE_STATISTICS_H_
#define FRESHET_CORE_MODEL_PAGE_STATISTICS_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/model/signal.h"

namespace freshet {

// One crawl and the interval before it. Value type, thread-compatible.
struct CrawlObservation {
  Instant fetched;
  Duration elapsed;      // since the previous crawl, or since first seen if the content was known
  SignalCounts signals;  // signals applied in the interval
  // Operational seconds of the interval (core/estimate/operational_time.h). Estimator::RecordCrawl
  // sets this and ignores the caller's value.
  float exposure = 0;
  bool changed = false;  // the content differs from that of the previous crawl
  bool operator==(const CrawlObservation&) const = default;
};

// Value type, thread-compatible. Invariant: `recent` is sorted by fetch time and has at most
// limits::kMaxObservations entries.
struct PageStatistics {
  std::vector<CrawlObservation> recent;
  // Sums over the observations that left the window, as of `recent.front().fetched`: unsignalled
  // changes, and the operational seconds in which crawls could see such changes. Both fade with
  // time.
  float old_changes = 0;
  float old_exposure = 0;
  bool operator==(const PageStatistics&) const = default;
};

// Observations are rounded, which halves their space: spans to 11 significant bits and exposures to
// 8, both within 0.4%. The loss does not matter: a rate estimated from 24 observations is uncertain
// by 20% and more.

// `span`, rounded down. Precondition: span >= 0.
[[nodiscard]] Duration CoarseSpan(Duration span);
// `exposure`, rounded to the nearest. Precondition: exposure >= 0.
[[nodiscard]] float CoarseExposure(double exposure);
// The observation as it is stored after `before`. The first observation keeps its fetch time. The
// fetch time of a later observation moves back by at most 0.1% of the time since the previous
// observation. Precondition: `observation` was fetched after the last observation in `before`.
[[nodiscard]] CrawlObservation Coarse(CrawlObservation observation, const PageStatistics& before);
// Returns true if `observation` can be the rounded record of a fetch at `fetched`.
[[nodiscard]] bool MayBeFetch(const CrawlObservation& observation, Instant fetched);

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_PAGE_STATISTICS_H_
