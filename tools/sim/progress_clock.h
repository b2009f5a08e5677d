// When a long command tells how far it has come, and how long the rest will take.
#ifndef FRESHET_TOOLS_SIM_PROGRESS_CLOCK_H_
#define FRESHET_TOOLS_SIM_PROGRESS_CLOCK_H_

#include <chrono>
#include <optional>
#include <string>

namespace freshet {

// "about 12 s left", "about 3 min left", of work of which that share in (0, 1] is done.
[[nodiscard]] std::string TimeLeftText(std::chrono::duration<double> elapsed, double share_done);

// Not before two seconds of the wall clock have passed, then once in two. Thread-compatible.
class ProgressClock {
 public:
  // TimeLeftText, counted from the making of this object, where it is time to tell; none: it is
  // not.
  [[nodiscard]] std::optional<std::string> TimeLeftIfDue(double share_done);

 private:
  using Clock = std::chrono::steady_clock;

  const Clock::time_point started_ = Clock::now();
  Clock::time_point told_ = started_;
};

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_PROGRESS_CLOCK_H_
