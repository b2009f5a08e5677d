// Decides when a long command reports its progress, and estimates the time left.
#ifndef FRESHET_LAB_SIM_PROGRESS_CLOCK_H_
#define FRESHET_LAB_SIM_PROGRESS_CLOCK_H_

#include <chrono>
#include <optional>
#include <string>

namespace freshet {

// Returns for example "about 12 s left" or "about 3 min left". `share_done`, in (0, 1], is the
// share of the work that is done.
[[nodiscard]] std::string TimeLeftText(std::chrono::duration<double> elapsed, double share_done);

// Reports after two seconds of the wall clock, then every two seconds. Thread-compatible.
class ProgressClock {
 public:
  // Returns TimeLeftText, with the time since this object was constructed; nullopt = no report is
  // due.
  [[nodiscard]] std::optional<std::string> TimeLeftIfDue(double share_done);

 private:
  using Clock = std::chrono::steady_clock;

  const Clock::time_point started_ = Clock::now();
  Clock::time_point told_ = started_;
};

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_PROGRESS_CLOCK_H_
