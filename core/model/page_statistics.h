// The statistics of one page: a bounded window of crawl observations, and fading sums of the
// observations before. Never the whole history.
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
  Duration elapsed;  // since the crawl before (or since first seen, where the content was known)
  SignalCounts signals;  // signals applied in the interval
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
  // Sums of the observations that left the window: unsignalled changes, and the operational seconds
  // in which crawls could see them; fading, as of `recent.front().fetched`.
  float old_changes = 0;
  float old_exposure = 0;
  bool operator==(const PageStatistics&) const = default;
};

// An observation is kept as exactly as estimates can use it, which takes half of the space: spans
// to 11 significant bits and exposures to 8, both within 0.4%. A rate from 24 observations is
// uncertain by 20% and more.

// Rounded down. Precondition: span >= 0.
[[nodiscard]] Duration CoarseSpan(Duration span);
// Rounded to the nearest. Precondition: exposure >= 0.
[[nodiscard]] float CoarseExposure(double exposure);
// The observation as kept behind `before`. The first keeps its fetch time; others move back by at
// most 0.1% of the time since the one before. Precondition: it was fetched after the last of
// `before`.
[[nodiscard]] CrawlObservation Coarse(CrawlObservation observation, const PageStatistics& before);
// Whether this observation may be the fetch at this time.
[[nodiscard]] bool MayBeFetch(const CrawlObservation& observation, Instant fetched);

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_PAGE_STATISTICS_H_
