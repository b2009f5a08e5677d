// A policy that knows what no crawler can know: the true rates of every page of a world, or the
// mean rates over a whole history.
#ifndef FRESHET_LAB_SIM_REPLAY_HINDSIGHT_H_
#define FRESHET_LAB_SIM_REPLAY_HINDSIGHT_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/index/price_index.h"
#include "lab/sim/replay.h"
#include "lab/sim/replay_truth.h"
#include "lab/sim/worlds.h"

namespace freshet {

// Crawls the page of highest greedy_ncis value at the rates in force, like the default policy with
// nothing left to learn. A signal counts by the rates at the time of its change. The policy knows
// the true share of each burst, and drops pages when they die. But it knows neither changes nor
// future rates, and assumes Poisson changes and prompt signals. So it is a yardstick, not a bound:
// other policies can beat it if rates jump, edits cluster or signals come late. In a history, the
// policy uses mean rates over the whole history, so other policies can beat it by more.
// Owner thread only.
class HindsightReplay : public ReplayPolicy {
 public:
  // `world` outlives the policy, which uses TruthOf `world` with the replay's `signal_recall`.
  explicit HindsightReplay(const World& world, double signal_recall = 1);

  void Add(size_t page, Instant now) override;
  void Signal(std::span<const ReplaySignal> poll, Instant now) override;
  [[nodiscard]] std::optional<size_t> Pick(Instant now) override;
  void Crawled(size_t page, Instant now, bool changed) override;
  void Gone(size_t page, Instant now) override;

 private:
  struct Happening {
    Instant at;
    size_t page = 0;
    size_t rates = 0;  // index of the page's new rates; one past the last = the page dies
  };

  void CatchUp(Instant now);
  void File(size_t page, double exponent, Instant now);
  // Returns the rates in force at `at`, or the current rates if `at` is later.
  [[nodiscard]] const TrueRates& RatesAt(size_t page, Instant at) const;
  // Returns the burst to which the signals of a host belong; nullptr = each signal has a separate
  // cause.
  [[nodiscard]] const TrueBurst* BurstOf(const std::string& host, Instant now) const;

  const World& world_;
  const ReplayTruth truth_;
  PriceIndex index_;
  std::vector<Happening> happenings_;  // in order of time
  size_t next_ = 0;
  std::vector<size_t> rates_;     // index of each page's rates in force
  std::vector<Instant> crawled_;  // infinite after the page is gone
};

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_REPLAY_HINDSIGHT_H_
