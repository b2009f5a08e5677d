// How a page is held in memory: 32 bytes that say what its value is and how it grows.
#ifndef FRESHET_CORE_INDEX_INDEX_RECORD_H_
#define FRESHET_CORE_INDEX_INDEX_RECORD_H_

#include <cstdint>

#include "core/index/index_entry.h"

namespace freshet {

// Which meaning IndexRecord::clock has.
enum class ClockKind : uint8_t {
  kRunning,    // the instant, in microseconds, at which the exponent was zero
  kSaturated,  // the exponent is infinite; the instant since when
  kStanding,   // the exponent, as the bits of a float; it does not move
};

// Where a page is held in the index.
enum class PagePlace : uint8_t {
  kNone,      // not in
  kUnfiled,   // put before the first pick
  kAsleep,    // in a calendar
  kWaiting,   // in a pool
  kAwake,     // in the band
  kForced,    // past its forced_at
  kDelayed,   // before its eligible_from
  kWithheld,  // taken out of competition
};

// Two records share a cache line. Value type, thread-compatible.
struct alignas(32) IndexRecord {
  float importance = 0;
  // change_rate where the policy reads it, signal_rate where it reads that: none reads both.
  float rate = 0;
  float unsignalled_rate = 0;
  float signal_weight = 0;
  float staleness_rate = 0;
  // What `place` says: the exponent at which a sleeping page reaches the level it sleeps under, as
  // the bits of a float; the position of another.
  uint32_t position = 0;
  // 285 years either side of the epoch.
  int64_t clock : 54;
  uint64_t clock_kind : 2;
  uint64_t place : 3;
  uint64_t policy : 2;  // which of the policies that the index knows
  uint64_t tag : 3;     // of the calendar entry that counts

  IndexRecord() : clock(0), clock_kind(0), place(0), policy(0), tag(0) {}
};
static_assert(sizeof(IndexRecord) == 32);

// Rates and clock; the other fields are zero.
[[nodiscard]] IndexRecord EncodeRecord(const IndexEntry& entry);
// Sets the clock alone. `speed` is the speed of the page's value function.
void EncodeClock(double exponent, Instant since, double speed, bool saturates, IndexRecord* record);
// Rates and clock; `host`, `eligible_from` and `forced_at` are not in the record.
[[nodiscard]] IndexEntry DecodeRecord(const Policy& policy, const IndexRecord& record);
[[nodiscard]] IndexRates DecodeRates(const Policy& policy, const IndexRecord& record);

[[nodiscard]] ValueParameters ValueOf(const Policy& policy, const IndexRecord& record);

// Whether every page that ever changes has ValueShape::kGreedy under the policy, with the speed
// `rate`.
[[nodiscard]] inline bool IsPlain(const Policy& policy) {
  return policy.kind == PolicyKind::kGreedy || policy.kind == PolicyKind::kNewContent;
}

// ds/dt of the page; as ValueOf says, mostly without computing all that ValueOf computes.
[[nodiscard]] double SpeedOf(const Policy& policy, const IndexRecord& record);

// The exponent of the page at `at`.
[[nodiscard]] double StandingExponent(const IndexRecord& record);
[[nodiscard]] inline double ExponentOf(const IndexRecord& record, double speed, Instant at) {
  if (record.clock_kind != static_cast<uint64_t>(ClockKind::kRunning)) {
    return StandingExponent(record);
  }
  const double elapsed = (at - Instant::FromMicros(record.clock)).seconds();
  return elapsed > 0 ? speed * elapsed : 0;
}

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_INDEX_RECORD_H_
