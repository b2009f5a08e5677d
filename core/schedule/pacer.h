// The constant crawl rate, as ticks at anchor + k / R. A tick that is not used in time is lost. Old
// ticks are never caught up, so a pause of the workers or of the process is not followed by a burst
// of fetches.
#ifndef FRESHET_CORE_SCHEDULE_PACER_H_
#define FRESHET_CORE_SCHEDULE_PACER_H_

#include <cstdint>

#include "core/base/units.h"

namespace freshet {

// Owner thread only.
//
// Guarantee: assume that each assignment leaves between the instant of its tick, which Use()
// returns, and lateness() after it. If a tick is longer than `max_lateness`, at most floor(R w) + 2
// assignments leave in any window of w seconds; this is ceil(R w) + 1 unless R w is whole. At
// higher rates, a thread cannot wake up exactly, and R times `max_lateness` more can leave.
class Pacer {
 public:
  static constexpr Duration kUsualLateness = Duration::Millis(1);

  // Rate 0 = there are no ticks.
  Pacer(Rate rate, Instant now, Duration max_lateness = kUsualLateness);

  // Changes the rate from now on. The elapsed share of the current tick is kept.
  void SetRate(Rate rate, Instant now);
  [[nodiscard]] Rate rate() const { return rate_; }

  // The instant of the next tick that was neither used nor skipped; infinite at rate 0.
  [[nodiscard]] Instant next() const;
  // Uses the next tick. Precondition: the rate is not 0.
  Instant Use();
  // Skips every tick that is older than lateness(). Returns their number.
  int64_t SkipMissed(Instant now);
  // The longest allowed delay of a tick: just under one tick, or `max_lateness` if that is longer.
  [[nodiscard]] Duration lateness() const;
  // The number of whole ticks between the next tick and `now`. A caller that is late can still use
  // them.
  [[nodiscard]] int64_t Overdue(Instant now) const;

 private:
  Duration max_lateness_;
  Rate rate_;
  Instant anchor_;
  int64_t used_ = 0;  // ticks used or skipped since the anchor
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PACER_H_
