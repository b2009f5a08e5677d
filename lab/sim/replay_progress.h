// Reports the progress of a long replay.
#ifndef FRESHET_LAB_SIM_REPLAY_PROGRESS_H_
#define FRESHET_LAB_SIM_REPLAY_PROGRESS_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "lab/sim/progress_clock.h"
#include "lab/sim/replay.h"

namespace freshet {

// Passes all calls to a policy. Every two seconds of the wall clock, reports which share of the
// span is finished, and how much time is left at this pace. Owner thread only.
class ReplayProgress : public ReplayPolicy {
 public:
  using Tell = std::function<void(const std::string& text)>;

  // `policy` outlives this object.
  ReplayProgress(ReplayPolicy& policy, const ReplaySpan& span, Tell tell);

  void Add(size_t page, Instant now) override { policy_.Add(page, now); }
  void Signal(std::span<const ReplaySignal> poll, Instant now) override {
    policy_.Signal(poll, now);
  }
  [[nodiscard]] std::optional<size_t> Pick(Instant now) override;
  void Crawled(size_t page, Instant now, bool changed) override {
    policy_.Crawled(page, now, changed);
  }
  void Gone(size_t page, Instant now) override { policy_.Gone(page, now); }

 private:
  ReplayPolicy& policy_;
  const ReplaySpan span_;
  const Tell tell_;
  ProgressClock clock_;
  unsigned picks_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_REPLAY_PROGRESS_H_
