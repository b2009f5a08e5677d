// The entry of a page in an index, and the answer of a pick. Shared by the product index and its
// twin.
#ifndef FRESHET_CORE_INDEX_INDEX_ENTRY_H_
#define FRESHET_CORE_INDEX_INDEX_ENTRY_H_

#include <limits>

#include "core/base/units.h"
#include "core/model/crawl_value.h"
#include "core/model/page_rates.h"
#include "core/model/policy.h"

namespace freshet {

// The rates of a page as the index holds them, per second: in single precision, because estimates
// are known to percents and memory bounds the number of pages. Finite and >= 0, except
// signal_weight, which may be infinite. Value type, thread-compatible.
struct IndexRates {
  float importance = 0;        // mu
  float change_rate = 0;       // Delta
  float unsignalled_rate = 0;  // alpha
  float signal_rate = 0;       // gamma
  float signal_weight = 0;     // kappa
  float staleness_rate = 0;    // ds/dt of the staleness
  bool operator==(const IndexRates&) const = default;
};

// Rounds to single precision; numbers that are too large become the largest float.
[[nodiscard]] IndexRates MakeIndexRates(double importance, const PageRates& rates);

// The inverse of MakeIndexRates, without the importance.
[[nodiscard]] PageRates PageRatesOf(const IndexRates& rates);

// A page as the index sees it: between two calls of Put its exponent grows at a constant rate. The
// policy is part of the entry so that a change of policy can refile the pages one by one. Value
// type, thread-compatible.
struct IndexEntry {
  Policy policy;
  IndexRates rates;
  double exponent = 0;  // the exponent at `since`; >= 0, may be infinite
  Instant since;
  HostId host;
  Instant eligible_from;                    // never picked before; none = any time
  Instant forced_at = Instant::Infinite();  // when its value becomes infinite
};

// The value function of the page; 5 to 60 ns.
[[nodiscard]] ValueParameters ValueOf(const Policy& policy, const IndexRates& rates);
[[nodiscard]] inline ValueParameters ValueOf(const IndexEntry& entry) {
  return ValueOf(entry.policy, entry.rates);
}

// The form in which an index holds `entry`, and by which it decides.
//  - Of the rates only those that the policy reads stay. change_rate is then what the others say.
//  - Exponent and instant become the instant at which the exponent was zero: `exponent` is zero,
//    and `since` moves back by exponent/speed, to the microsecond. Not so where the exponent is
//    infinite or beyond saturation (it is then infinite, `since` stays), nor where it would lie
//    centuries back: such a page stands still, its exponent in single precision and `since`
//    infinite.
// Idempotent.
[[nodiscard]] IndexEntry Canonical(const IndexEntry& entry);

// The exponent at `at`; time before `since` counts as `since`.
[[nodiscard]] inline double ExponentAt(const IndexEntry& entry, const ValueParameters& value,
                                       Instant at) {
  const double elapsed = (at - entry.since).seconds();
  return elapsed > 0 ? entry.exponent + value.speed * elapsed : entry.exponent;
}
[[nodiscard]] inline double ExponentAt(const IndexEntry& entry, Instant at) {
  return ExponentAt(entry, ValueOf(entry), at);
}

// The value that decides at `at`.
[[nodiscard]] inline double DecidingValue(const IndexEntry& entry, const ValueParameters& value,
                                          Instant at) {
  if (at >= entry.forced_at) return std::numeric_limits<double>::infinity();
  return CrawlValue(value, ExponentAt(entry, value, at));
}
[[nodiscard]] inline double DecidingValue(const IndexEntry& entry, Instant at) {
  return DecidingValue(entry, ValueOf(entry), at);
}

// Among equal values the page that has waited longest wins, so that equal pages take turns.
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
