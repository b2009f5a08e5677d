// A replay of the papers' learners (core/plan/learners.h).
#ifndef FRESHET_TOOLS_SIM_REPLAY_LEARNER_H_
#define FRESHET_TOOLS_SIM_REPLAY_LEARNER_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "core/plan/learners.h"
#include "core/plan/low_discrepancy.h"
#include "tools/sim/replay.h"
#include "tools/sim/worlds.h"

namespace freshet {

// Whether the learner crawls pages with complete signals on their signals: lambda_learn and
// lambda_learn_approx. The others poll every page.
[[nodiscard]] bool LearnsFromSignals(LearnerKind kind);

// Executes a learner's plan: a page that is to be crawled on signals is crawled on each with its
// probability, first come first served; every tick that no such page takes goes to the polled
// pages, in turns by their rates (LowDiscrepancySchedule). So no tick is unused while some page has
// a rate. Pages that appear take part from the next epoch on (Learner::AddPage); a page that is
// gone is dropped, and the others share what it got. Times are in days. Owner thread only.
//
// Which pages have complete signals is told: those whose changes are all signalled, in a world for
// good, in a history if `signal_recall` is 1. That some signals are false is not.
class LearnerReplay : public ReplayPolicy {
 public:
  // A learner without pages. `world` outlives it.
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
    bool known = false;     // and not gone
    bool complete = false;  // crawled on signals
    bool wanted = false;    // in the queue
    Instant crawled;
    // Of complete pages, what the learner was told and what it was not.
    Instant told;
    double told_days = 0;
    double signals = 0;
  };

  void CatchUp(Instant now);
  // Tells of a complete page's signals since it was told last. Of a page that keeps silent it is
  // told only when that adds a tenth to what it knows, which spares it most of the observations.
  void TellSignals(size_t page, Instant now);
  void Reschedule();

  const World& world_;
  Learner learner_;
  Duration next_epoch_length_;
  Duration epoch_;
  Instant epoch_ends_;
  std::vector<Page> pages_;  // all of the world, those that appear later not known
  std::deque<size_t> wanted_;
  std::vector<double> rates_;
  std::optional<LowDiscrepancySchedule> schedule_;  // none: no page has a rate
  bool rates_changed_ = true;
  Random random_{1};
};

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_REPLAY_LEARNER_H_
