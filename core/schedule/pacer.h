// The constant crawl rate: ticks at anchor + k / R. A tick that is not used in time is gone;
// nothing older is ever caught up, so a pause of workers or of the process is not followed by a
// burst at the sites.
#ifndef FRESHET_CORE_SCHEDULE_PACER_H_
#define FRESHET_CORE_SCHEDULE_PACER_H_

#include <cstdint>

#include "core/base/units.h"

namespace freshet {

// Owner thread only.
//
// Guarantee: let each assignment leave between the instant of its tick, which Use() returns, and
// lateness() after it. Then in any window of w seconds at most floor(R w) + 2 leave, if a tick is
// longer than `max_lateness`; that is ceil(R w) + 1 unless R w is whole. At higher rates, where a
// thread cannot wake exactly, R times `max_lateness` more can leave.
class Pacer {
 public:
  static constexpr Duration kUsualLateness = Duration::Millis(1);

  // Rate 0 = no tick ever.
  Pacer(Rate rate, Instant now, Duration max_lateness = kUsualLateness);

  // Changes the rate from now on; the time since the last tick counts in proportion.
  void SetRate(Rate rate, Instant now);
  [[nodiscard]] Rate rate() const { return rate_; }

  // The instant of the next tick that has not been used or skipped; infinite at rate zero.
  [[nodiscard]] Instant next() const;
  // Uses the next tick. Precondition: the rate is not 0.
  Instant Use();
  // Gives up every tick further in the past than lateness(); returns their number.
  int64_t SkipMissed(Instant now);
  // The most by which a tick may be late: just under one tick, or `max_lateness` if that is more.
  [[nodiscard]] Duration lateness() const;
  // Whole ticks between the next one and now, which a late driver may still use.
  [[nodiscard]] int64_t Overdue(Instant now) const;

 private:
  Duration max_lateness_;
  Rate rate_;
  Instant anchor_;
  int64_t used_ = 0;  // ticks used or skipped since the anchor
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PACER_H_
