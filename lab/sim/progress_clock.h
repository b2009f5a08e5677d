// Decides when a long command reports its progress, and estimates the time left.
#ifndef FRESHET_LAB_SIM_PROGRESS_CLOCK_H_
#define FRESHET_LAB_SIM_PROGRESS_CLOCK_H_

#include <chrono>
#include <optional>
#include <string>

namespace freshet {

// Returns "about 12 s left", "about 3 min left", when the share `share_done` in (0, 1] is done.
[[nodiscard]] std::string TimeLeftText(std::chrono::duration<double> elapsed, double share_done);

// Reports after two seconds of the wall clock, then every two seconds. Thread-compatible.
class ProgressClock {
 public:
  // Returns TimeLeftText, counted from the construction of this object, if a report is due; nullopt
  // = not due.
  [[nodiscard]] std::optional<std::string> TimeLeftIfDue(double share_done);

 private:
  using Clock = std::chrono::steady_clock;

  const Clock::time_point started_ = Clock::now();
  Clock::time_point told_ = started_;
};

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_PROGRESS_CLOCK_H_
