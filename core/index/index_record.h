// The record of a page in memory: 32 bytes that define the page's value and its growth.
#ifndef FRESHET_CORE_INDEX_INDEX_RECORD_H_
#define FRESHET_CORE_INDEX_INDEX_RECORD_H_

#include <cstdint>
#include <limits>

#include "core/index/index_entry.h"

namespace freshet {

// The meaning of IndexRecord::clock.
enum class ClockKind : uint8_t {
  kRunning,    // the instant, in microseconds, at which the exponent was zero
  kSaturated,  // the instant since which the exponent is infinite
  kStanding,   // the exponent, as the bits of a float; it is constant
};

// The place of a page in the index.
enum class PagePlace : uint8_t {
  kNone,       // not in the index
  kUnfiled,    // added before the first pick
  kAsleep,     // in a wheel
  kWaiting,    // in a pool
  kAwake,      // in the band
  kForced,     // past its forced_at
  kDelayed,    // before its eligible_from
  kSuspended,  // not picked until Resume
};

// Two records share a cache line. Value type, thread-compatible.
struct alignas(32) IndexRecord {
  float importance = 0;
  // change_rate or signal_rate, whichever the policy reads. No policy reads both.
  float rate = 0;
  float unsignalled_rate = 0;
  float signal_weight = 0;
  float staleness_rate = 0;
  // For a sleeping page: the exponent at which the page reaches the level of its crossing, as
  // Crossing::code (core/index/wake_threshold.h). For any other page: its position in the structure
  // where it is filed.
  uint32_t position = 0;

  // See ClockKind. Instants can be up to 285 years before or after the Unix epoch.
  [[nodiscard]] int64_t clock() const { return static_cast<int64_t>(word_ << 10) >> 10; }
  [[nodiscard]] ClockKind clock_kind() const { return static_cast<ClockKind>(Part(kKind, 3)); }
  [[nodiscard]] bool running() const { return clock_kind() == ClockKind::kRunning; }
  [[nodiscard]] PagePlace place() const { return static_cast<PagePlace>(Part(kPlace, 7)); }
  // The number of the policy in the index. It is below 4.
  [[nodiscard]] size_t policy() const { return Part(kPolicy, 3); }
  // The tag of the valid wheel entry. It is below 8.
  [[nodiscard]] uint8_t tag() const { return static_cast<uint8_t>(Part(kTag, 7)); }

  // Returns true if the values of both pages are equal at every instant, bit for bit.
  [[nodiscard]] bool ValuedAs(const IndexRecord& other) const {
    constexpr uint64_t kValued = ((uint64_t{1} << kPlace) - 1) | uint64_t{3} << kPolicy;
    return ((word_ ^ other.word_) & kValued) == 0 && importance == other.importance &&
           rate == other.rate && unsignalled_rate == other.unsignalled_rate &&
           signal_weight == other.signal_weight && staleness_rate == other.staleness_rate;
  }

  void SetClock(int64_t clock, ClockKind kind) {
    constexpr uint64_t kClock = (uint64_t{1} << kKind) - 1;
    SetPart(0, kClock, static_cast<uint64_t>(clock) & kClock);
    SetPart(kKind, 3, static_cast<uint64_t>(kind));
  }
  void set_place(PagePlace place) { SetPart(kPlace, 7, static_cast<uint64_t>(place)); }
  void set_policy(size_t policy) { SetPart(kPolicy, 3, policy); }
  void set_tag(uint8_t tag) { SetPart(kTag, 7, tag & 7u); }
  // Makes older wheel entries stale. Call this whenever the page is refiled, even if it will not
  // sleep.
  void NextTag() { word_ += uint64_t{1} << kTag; }

 private:
  // All parts are in one word, which is read and written as a whole. If only a part were written,
  // as with bit-fields, the processor would have to wait before it could read the rest.
  static constexpr int kKind = 54;
  static constexpr int kPlace = 56;
  static constexpr int kPolicy = 59;
  static constexpr int kTag = 61;  // the last part: overflow is discarded
  [[nodiscard]] uint64_t Part(int from, uint64_t mask) const { return word_ >> from & mask; }
  void SetPart(int from, uint64_t mask, uint64_t part) {
    word_ = (word_ & ~(mask << from)) | part << from;
  }

  uint64_t word_ = 0;
};
static_assert(sizeof(IndexRecord) == 32);

// Encodes the rates and the clock. The other fields are zero.
[[nodiscard]] IndexRecord EncodeRecord(const IndexEntry& entry);
// Sets only the clock. `speed` is the speed of the page's value function.
void EncodeClock(double exponent, Instant since, double speed, bool saturates, IndexRecord* record);
// Decodes the rates and the clock. `host`, `eligible_from` and `forced_at` are not part of the
// record.
[[nodiscard]] IndexEntry DecodeRecord(const Policy& policy, const IndexRecord& record);
[[nodiscard]] IndexRates DecodeRates(const Policy& policy, const IndexRecord& record);

[[nodiscard]] ValueParameters ValueOf(const Policy& policy, const IndexRecord& record);

// Returns true if, under the policy, every page that ever changes has ValueShape::kGreedy and the
// speed `rate`.
[[nodiscard]] inline bool IsPlain(const Policy& policy) {
  return policy.kind == PolicyKind::kGreedy || policy.kind == PolicyKind::kNewContent;
}

// Returns true if values have a ceiling, so that exponents beyond kSaturatedStaleness need not be
// stored.
[[nodiscard]] inline bool Saturates(const Policy& policy) {
  return policy.kind != PolicyKind::kHarmonic && policy.kind != PolicyKind::kHarmonicNcis;
}

// SpeedOf returns ds/dt of the page. It equals the speed in ValueOf, but is usually cheaper to
// compute. NoisySpeed is its general case, which is not inlined.
[[nodiscard]] double NoisySpeed(const Policy& policy, const IndexRecord& record);
[[nodiscard]] inline double SpeedOf(const Policy& policy, const IndexRecord& record) {
  if (IsPlain(policy) && record.importance > 0) return static_cast<double>(record.rate);
  return NoisySpeed(policy, record);
}

// ExponentOf returns the exponent of the page at `at`. StandingExponent returns the constant
// exponent of a page whose clock is not running.
[[nodiscard]] double StandingExponent(const IndexRecord& record);
[[nodiscard]] inline double ExponentOf(const IndexRecord& record, double speed, Instant at) {
  if (!record.running()) {
    return StandingExponent(record);
  }
  const double elapsed = (at - Instant::FromMicros(record.clock())).seconds();
  return elapsed > 0 ? speed * elapsed : 0;
}

// Among equal values the page with the smaller turn wins: the page that was crawled longest ago.
[[nodiscard]] inline int64_t TurnOf(const IndexRecord& record) {
  return record.clock_kind() == ClockKind::kStanding ? std::numeric_limits<int64_t>::max()
                                                     : record.clock();
}

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_INDEX_RECORD_H_
