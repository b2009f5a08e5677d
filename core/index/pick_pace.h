// The rate and the value of picks, from which the periods of AwakeBand follow
// (core/index/awake_band.h explains hot and warm pages).
//
// Hot pages are split from warm ones every few dozen picks, and warm pages from the others every
// few hundred. Splits of all pages are therefore rare, but a period is still a small part of a
// page's cycle. The accuracy of the pace affects only the cost (AwakeBand).
#ifndef FRESHET_CORE_INDEX_PICK_PACE_H_
#define FRESHET_CORE_INDEX_PICK_PACE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/index/awake_band.h"

namespace freshet {

// Owner thread only. Times are seconds on the clock of the index.
class PickPace {
 public:
  static constexpr int kHotPicks = 32;

  // Counts a pick. Call this before each pick at a new instant.
  void Tick() {
    ++picks_;
    ++hot_picks_;
    ++total_;
  }
  void Note(double value) { least_ = std::min(least_, value); }
  // These return true if the present period of warm or hot pages has had more picks than planned.
  [[nodiscard]] bool late() const { return picks_ > picks_a_period_; }
  [[nodiscard]] bool hot_late() const { return hot_picks_ > 2 * uint64_t{kHotPicks}; }

  // Begins a period of warm pages at t, and a period of hot pages within it. `pages` is the size of
  // the index.
  void Begin(double t, size_t pages) {
    if (picks_ > 0) {
      // A pause says little about the time between the next picks.
      const double most = 4 * interval_ + 1e-6;
      const double mean = (t - start_) / static_cast<double>(picks_);
      known_ = mean <= most;
      interval_ = std::clamp(mean, 1e-7, most);
    }
    picks_ = 0;
    start_ = t;
    warm_picks_ = std::clamp(static_cast<double>(pages) / 2500, 64.0, 1200.0);
    picks_a_period_ = static_cast<uint64_t>(2 * warm_picks_);
    BeginHot();
  }
  void BeginHot() {
    // Uses the minimum value of the last picks, because signals can lift some picks far above the
    // others.
    if (std::isfinite(least_)) price_ = least_;
    least_ = std::numeric_limits<double>::infinity();
    hot_picks_ = 0;
  }

  // `interval`: mean time between picks. `known`: the last period confirmed `interval`. `total`:
  // the number of picks.
  [[nodiscard]] double interval() const { return interval_; }
  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] double total() const { return static_cast<double>(total_); }
  // Approximately the lowest value that is picked; 0 = not known.
  [[nodiscard]] double price() const { return price_; }

  // Returns the period to begin. `shorter` divides its length; a shorter period includes more
  // pages. `reach`: the next picks are worth at least this; 0 = not known. Without `reach`, the
  // period gets the lowest value of the last picks as its price. If the next pick is worth less,
  // the level of the split turns out to be too high.
  [[nodiscard]] AwakeBand::Period Warm(double shorter, double reach) const {
    return Of(warm_picks_, shorter, reach);
  }
  [[nodiscard]] AwakeBand::Period Hot(double shorter, double reach) const {
    return Of(kHotPicks, shorter, reach);
  }

 private:
  [[nodiscard]] AwakeBand::Period Of(double picks, double shorter, double reach) const {
    return {std::max(interval_ * picks / shorter, 1e-6),
            static_cast<size_t>((8 + 1.5 * picks) * std::sqrt(shorter)), reach > 0 ? reach : price_,
            reach > 0};
  }

  uint64_t total_ = 0;
  uint64_t picks_ = 0;  // in this period
  uint64_t picks_a_period_ = 0;
  uint64_t hot_picks_ = 0;
  double warm_picks_ = 64;
  double interval_ = 1e-6;  // mean time between picks
  bool known_ = false;
  double start_ = 0;
  double price_ = 0;  // approximate value of a pick
  // the lowest value picked in this period of hot pages
  double least_ = std::numeric_limits<double>::infinity();
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_PICK_PACE_H_
