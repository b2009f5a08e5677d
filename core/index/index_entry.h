// The entry of a page in an index, and the result of a pick. PriceIndex and BruteIndex share both.
#ifndef FRESHET_CORE_INDEX_INDEX_ENTRY_H_
#define FRESHET_CORE_INDEX_INDEX_ENTRY_H_

#include <limits>

#include "core/base/units.h"
#include "core/model/crawl_value.h"
#include "core/model/page_rates.h"
#include "core/model/policy.h"

namespace freshet {

// The rates of a page as the index stores them, per second. They are in single precision, because
// estimates are accurate only to a few percent, and memory limits the number of pages. All are
// finite and >= 0, except signal_weight, which can be infinite. Value type, thread-compatible.
struct IndexRates {
  float importance = 0;        // mu
  float change_rate = 0;       // Delta
  float unsignalled_rate = 0;  // alpha
  float signal_rate = 0;       // gamma
  float signal_weight = 0;     // kappa
  float staleness_rate = 0;    // ds/dt of the staleness
  bool operator==(const IndexRates&) const = default;
};

// Rounds to single precision. Finite numbers that are too large become the largest float.
[[nodiscard]] IndexRates MakeIndexRates(double importance, const PageRates& rates);

// The inverse of MakeIndexRates, without the importance.
[[nodiscard]] PageRates PageRatesOf(const IndexRates& rates);

// A page as the index sees it. Between two calls of Put its exponent grows at a constant rate. The
// policy is part of the entry, so that a change of policy can refile the pages one by one.
// Value type, thread-compatible.
struct IndexEntry {
  Policy policy;
  IndexRates rates;
  double exponent = 0;  // the exponent at `since`; >= 0, can be infinite
  Instant since;
  HostId host;
  Instant eligible_from;                    // not picked before this; none = any time
  Instant forced_at = Instant::Infinite();  // from then on its value is infinite
};

// The value function of the page. Takes 5 to 60 ns.
[[nodiscard]] ValueParameters ValueOf(const Policy& policy, const IndexRates& rates);
[[nodiscard]] inline ValueParameters ValueOf(const IndexEntry& entry) {
  return ValueOf(entry.policy, entry.rates);
}

// Returns the form in which an index stores `entry`. The index compares pages by this form.
// Canonical is idempotent.
//  - Only the rates that the policy reads are kept. If change_rate is not one of them, it is
//    computed from the others.
//  - Usually `since` moves back by exponent/speed, rounded to a microsecond, to the instant at
//    which the exponent was zero. `exponent` becomes zero.
//  - If the exponent is infinite or beyond saturation, it becomes infinite and `since` stays.
//  - If `since` would move back by centuries, the page counts as standing still: the exponent is
//    kept in single precision, and `since` becomes infinite.
[[nodiscard]] IndexEntry Canonical(const IndexEntry& entry);

// The exponent at `at`. Before `since`, it is the exponent at `since`.
[[nodiscard]] inline double ExponentAt(const IndexEntry& entry, const ValueParameters& value,
                                       Instant at) {
  const double elapsed = (at - entry.since).seconds();
  return elapsed > 0 ? entry.exponent + value.speed * elapsed : entry.exponent;
}
[[nodiscard]] inline double ExponentAt(const IndexEntry& entry, Instant at) {
  return ExponentAt(entry, ValueOf(entry), at);
}

// The value by which the index compares pages at `at`.
[[nodiscard]] inline double DecidingValue(const IndexEntry& entry, const ValueParameters& value,
                                          Instant at) {
  if (at >= entry.forced_at) return std::numeric_limits<double>::infinity();
  return CrawlValue(value, ExponentAt(entry, value, at));
}
[[nodiscard]] inline double DecidingValue(const IndexEntry& entry, Instant at) {
  return DecidingValue(entry, ValueOf(entry), at);
}

// Returns true if `a` has waited longer. Among equal values, the page that has waited longest wins,
// so that equal pages take turns.
[[nodiscard]] inline bool WaitsLonger(const IndexEntry& a, PageId id_a, const IndexEntry& b,
                                      PageId id_b) {
  const Instant since_a = a.forced_at.infinite() ? a.since : a.forced_at;
  const Instant since_b = b.forced_at.infinite() ? b.since : b.forced_at;
  return since_a != since_b ? since_a < since_b : id_a < id_b;
}

struct IndexPick {
  PageId page;
  double value = 0;  // infinite = forced
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_INDEX_ENTRY_H_
