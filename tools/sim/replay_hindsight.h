// The policy that knows what no crawler can know: the true rates of every page of a world, or those
// that the whole of a history shows.
#ifndef FRESHET_TOOLS_SIM_REPLAY_HINDSIGHT_H_
#define FRESHET_TOOLS_SIM_REPLAY_HINDSIGHT_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/index/price_index.h"
#include "tools/sim/replay.h"
#include "tools/sim/replay_truth.h"
#include "tools/sim/worlds.h"

namespace freshet {

// Crawls the page of highest greedy_ncis value at the rates in force (a signal counts by those of
// its change), which is what the default policy would do if it had nothing to learn. It knows of
// each burst what share of it is true, and drops pages when they die. It does not know what
// changed, nor what rates will be; it takes pages as changing by a Poisson process and signals as
// coming at once. So it is a mark to measure by, not a bound: where rates jump, edits cluster or
// signals come late it can be beaten, and the more so in a history, where pages' rates are means
// over all of it. Owner thread only.
class HindsightReplay : public ReplayPolicy {
 public:
  // `world` outlives it; TruthOf says what is known, for `signal_recall` of the replay.
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
    size_t rates = 0;  // which of the page's; as many as there are: it dies
  };

  void CatchUp(Instant now);
  void File(size_t page, double exponent, Instant now);
  // Those that were in force, at the latest those that are.
  [[nodiscard]] const TrueRates& RatesAt(size_t page, Instant at) const;
  // The burst that the signals of a host are; nullptr: each came for a reason of its own.
  [[nodiscard]] const TrueBurst* BurstOf(const std::string& host, Instant now) const;

  const World& world_;
  const ReplayTruth truth_;
  PriceIndex index_;
  std::vector<Happening> happenings_;  // in order of time
  size_t next_ = 0;
  std::vector<size_t> rates_;     // which are in force, of each page
  std::vector<Instant> crawled_;  // infinite once gone
};

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_REPLAY_HINDSIGHT_H_
