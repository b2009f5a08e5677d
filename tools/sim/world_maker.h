// What draws a world: pages with rates, and what happens to them.
#ifndef FRESHET_TOOLS_SIM_WORLD_MAKER_H_
#define FRESHET_TOOLS_SIM_WORLD_MAKER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/random.h"
#include "tools/sim/worlds.h"

namespace freshet {

// Times are in days from the begin of the world, rates a day. Owner thread only.
class WorldMaker {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  // What TrueRates says, by days.
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
    double born = 0;  // replaces the first rates' `from`
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

  // Gamma distributed (Marsaglia and Tsang 2000). Precondition: shape, mean > 0.
  [[nodiscard]] double Gamma(double shape, double mean);
  [[nodiscard]] double LogUniform(double low, double high);

  // A page to which nothing happens yet; returns its number.
  size_t AddSilent(const PagePlan& plan);
  // A page that changes by a Poisson process; the caller sees to its false signals.
  size_t AddChanging(const PagePlan& plan);
  // A page that changes and is signalled by Poisson processes of its rates.
  size_t Add(const PagePlan& plan);
  // Signals arrive `delay` after `day`, and then with the next poll.
  void Change(size_t page, double day, Told told, double delay = 0);
  void FalseSignal(size_t page, double day, Told told = Told::kYes, double delay = 0);
  // Names all pages of the site at once, of which each has changed with probability
  // `changed_share`.
  void Burst(int site, double day, double changed_share);
  // How late a signal comes that Add draws from now on: exponential of that mean, at most `most`.
  void DelaySignals(double mean, double most, Told told);

  // The world; nothing is left here.
  [[nodiscard]] World Finish() &&;

 private:
  [[nodiscard]] Instant At(double day) const;
  // The times of the Poisson process that has the given one of the page's rates.
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

#endif  // FRESHET_TOOLS_SIM_WORLD_MAKER_H_
