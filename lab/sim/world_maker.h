// Draws a world: pages with rates, and their events.
#ifndef FRESHET_LAB_SIM_WORLD_MAKER_H_
#define FRESHET_LAB_SIM_WORLD_MAKER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/random.h"
#include "lab/sim/worlds.h"

namespace freshet {

// Makes one world. Times are in days from its beginning, and rates are per day. Owner thread only.
class WorldMaker {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  // Like TrueRates, but with times in days.
  struct Rates {
    double from = 0;
    double change_rate = 0;
    double recall = 0;
    double false_rate = 0;
  };
  struct PagePlan {
    int site = 0;
    double importance = 1;
    std::vector<Rates> rates;
    double born = 0;  // replaces `from` of the first rates
    double dies = kNever;
  };
  enum class Told : uint8_t { kYes, kNo, kUndated };

  WorldMaker(const WorldPlan& plan, uint64_t seed);

  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] double days() const { return days_; }
  [[nodiscard]] size_t pages() const { return world_.pages.size(); }
  [[nodiscard]] const std::vector<size_t>& PagesOf(int site) const {
    return pages_of_[static_cast<size_t>(site)];
  }

  // Draws a gamma-distributed number (Marsaglia and Tsang 2000). Precondition: shape, mean > 0.
  [[nodiscard]] double Gamma(double shape, double mean);
  [[nodiscard]] double LogUniform(double low, double high);

  // Adds a page without events, and returns its number.
  size_t AddSilent(const PagePlan& plan);
  // Adds a page that changes by a Poisson process; the caller adds its false signals.
  size_t AddChanging(const PagePlan& plan);
  // Adds a page with Poisson processes of changes and signals at its rates.
  size_t Add(const PagePlan& plan);
  // Adds a change or a false signal at `day`. Its signal arrives with the first poll that is
  // `delay` or more later.
  void Change(size_t page, double day, Told told, double delay = 0);
  void FalseSignal(size_t page, double day, Told told = Told::kYes, double delay = 0);
  // Reports all pages of the site at the same time. Each has changed with probability
  // `changed_share`.
  void Burst(int site, double day, double changed_share);
  // Sets the delay of the signals that Add draws from now on. It is exponential with mean `mean`,
  // and at most `most`.
  void DelaySignals(double mean, double most, Told told);

  // Returns the world, and leaves this object empty.
  [[nodiscard]] World Finish() &&;

 private:
  [[nodiscard]] Instant At(double day) const;
  // Calls `body` with the times of a Poisson process at the page's given rate.
  template <typename Body>
  void ForEvents(const PagePlan& plan, double Rates::*rate, Body body);
  [[nodiscard]] double DrawDelay();

  Random random_;
  double days_;
  World world_;
  std::vector<std::vector<size_t>> pages_of_;
  double mean_delay_ = 0;
  double most_delay_ = 0;
  Told told_ = Told::kYes;
};

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_WORLD_MAKER_H_
