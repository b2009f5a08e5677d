// Replays a history with the papers' learners (lab/methods/learners.h).
#ifndef FRESHET_LAB_SIM_REPLAY_LEARNER_H_
#define FRESHET_LAB_SIM_REPLAY_LEARNER_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "lab/methods/learners.h"
#include "lab/methods/low_discrepancy.h"
#include "lab/sim/replay.h"
#include "lab/sim/worlds.h"

namespace freshet {

// Whether the learner crawls pages with complete signals on their signals: lambda_learn and
// lambda_learn_approx. The others poll every page.
[[nodiscard]] bool LearnsFromSignals(LearnerKind kind);

// Executes a learner's plan. A page with complete signals is crawled on each signal with its
// probability, first come first served. All other ticks go to the polled pages, in proportion to
// their rates (LowDiscrepancySchedule). So no tick is unused while some page has a rate. New pages
// take part from the next epoch on (Learner::AddPage); a gone page is dropped, and the others share
// its rate. Times are in days. Owner thread only.
//
// The learner is told which pages have complete signals. In a world, these are the pages whose
// recall is always 1. In a history, these are all pages if `signal_recall` is 1, and otherwise
// none. The learner is not told that some signals are false.
class LearnerReplay : public ReplayPolicy {
 public:
  // `learner` has no pages. `world` outlives the policy.
  LearnerReplay(const World& world, Learner learner, bool from_signals, double signal_recall,
                Duration first_epoch, Duration epoch);

  void Add(size_t page, Instant now) override;
  void Signal(std::span<const ReplaySignal> poll, Instant now) override;
  [[nodiscard]] std::optional<size_t> Pick(Instant now) override;
  void Crawled(size_t page, Instant now, bool changed) override;
  void Gone(size_t page, Instant now) override;

  [[nodiscard]] const Learner& learner() const { return learner_; }

 private:
  struct Page {
    bool known = false;     // known and not gone
    bool complete = false;  // crawled on signals
    bool wanted = false;    // in the queue
    Instant crawled;
    // For complete pages: the time of the last report of signals to the learner, the days that all
    // reports cover, and the number of signals since the last report.
    Instant told;
    double told_days = 0;
    double signals = 0;
  };

  void CatchUp(Instant now);
  // Reports the signals of a complete page since the last report. If there were none, reports this
  // only when it adds a tenth to the observed time, which saves most observations.
  void TellSignals(size_t page, Instant now);
  void Reschedule();

  const World& world_;
  Learner learner_;
  Duration next_epoch_length_;
  Duration epoch_;
  Instant epoch_ends_;
  std::vector<Page> pages_;  // all pages of the world, even those that appear later
  std::deque<size_t> wanted_;
  std::vector<double> rates_;
  std::optional<LowDiscrepancySchedule> schedule_;  // nullopt = no page has a rate
  bool rates_changed_ = true;
  Random random_{1};
};

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_REPLAY_LEARNER_H_
