// What an index knows of a page, and what it answers. Shared by the product index and its twin.
#ifndef FRESHET_CORE_INDEX_INDEX_ENTRY_H_
#define FRESHET_CORE_INDEX_INDEX_ENTRY_H_

#include <limits>

#include "core/base/units.h"
#include "core/model/crawl_value.h"

namespace freshet {

// A page as the index sees it: between two calls of Put its exponent grows by `value.speed` per
// second. Value type, thread-compatible.
struct IndexEntry {
  ValueParameters value;
  double exponent = 0;  // at `since`; may be infinite
  Instant since;
  HostId host;
  Instant eligible_from;                    // never picked before; epoch: any time
  Instant forced_at = Instant::Infinite();  // from then on its value is infinite
};

// The exponent at `at`; time before `since` counts as `since`.
[[nodiscard]] inline double ExponentAt(const IndexEntry& entry, Instant at) {
  const double elapsed = (at - entry.since).seconds();
  return elapsed > 0 ? entry.exponent + entry.value.speed * elapsed : entry.exponent;
}

// The value that decides at `at`.
[[nodiscard]] inline double DecidingValue(const IndexEntry& entry, Instant at) {
  if (at >= entry.forced_at) return std::numeric_limits<double>::infinity();
  return CrawlValue(entry.value, ExponentAt(entry, at));
}

// Of equal values the page that has waited longest wins, so that equal pages take turns.
[[nodiscard]] inline bool WaitsLonger(const IndexEntry& a, PageId id_a, const IndexEntry& b,
                                      PageId id_b) {
  const Instant since_a = a.forced_at.infinite() ? a.since : a.forced_at;
  const Instant since_b = b.forced_at.infinite() ? b.since : b.forced_at;
  return since_a != since_b ? since_a < since_b : id_a < id_b;
}

struct IndexPick {
  PageId page;
  double value = 0;  // infinite: forced
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_INDEX_ENTRY_H_
