// A real clock that a test can move ahead.
#ifndef FRESHET_TESTS_SUPPORT_AHEAD_OF_CLOCK_H_
#define FRESHET_TESTS_SUPPORT_AHEAD_OF_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "core/base/units.h"
#include "server/base/system_clock.h"

namespace freshet {

// Real time plus an offset. Thread-safe.
class AheadOfClock final : public Clock {
 public:
  Instant Now() override { return real_.Now() + Duration::Micros(ahead_us_); }
  void Advance(Duration by) { ahead_us_ += by.micros(); }

 private:
  SystemClock real_;
  std::atomic<int64_t> ahead_us_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_AHEAD_OF_CLOCK_H_
