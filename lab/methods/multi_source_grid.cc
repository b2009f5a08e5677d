// Several sources with too many count vectors: computes the expected interval as the solution of
// its renewal equation, on a grid of staleness.
//
// psi(v), the expected time until the staleness has grown by v, is 0 up to v = 0, and beyond
//   alpha psi'(v) = 1 - gamma psi(v) + sum_k gamma_k psi(v - kappa_k).
// A source whose weight lies between two points of the grid becomes two sources, one of each
// weight, with the same total rate and drift gamma_k kappa_k. A weight below the first point
// becomes a source of one step, because weak signals act only as a drift. psi counts as linear
// between points, and the equation is solved exactly for that, so a grid that is coarse against
// alpha/gamma does no harm. Only positive terms are added.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/base/check.h"
#include "lab/methods/multi_source_value.h"

namespace freshet {
namespace {

constexpr size_t kFewestSteps = size_t{1} << 11;
constexpr size_t kMostSteps = size_t{1} << 18;
constexpr double kEnough = 1e-9;

// Integral of e^(-z y) over [0, 1].
double Phi1(double z) { return z == 0 ? 1 : -std::expm1(-z) / z; }

// Integral of (1 - y) e^(-z y) over [0, 1].
double Phi2(double z) {
  if (z > 0.5) return (1 - Phi1(z)) / z;
  double term = 0.5;
  double sum = term;
  for (int k = 1; k < 16; ++k) sum += term *= -z / (k + 2);
  return sum;
}

// Signals whose weight is a whole number of steps.
struct GridSource {
  size_t steps = 0;
  double share = 0;  // gamma_k/gamma
};

class StalenessGrid {
 public:
  StalenessGrid(const MultiSourcePage& page, double s, size_t steps)
      : alpha_(page.unsignalled_rate), step_(s / static_cast<double>(steps)), steps_(steps) {
    for (const SourceRates& source : page.sources) Add(source);
    for (GridSource& source : sources_) source.share /= gamma_;
  }

  // The outcome at the end of the grid.
  [[nodiscard]] MultiSourceOutcome Solve(double importance) const {
    // 1/alpha in the equation becomes 1/gamma after division by alpha/gamma.
    const double z =
        alpha_ == 0 ? std::numeric_limits<double>::infinity() : step_ * gamma_ / alpha_;
    const double stays = std::exp(-z);
    const double at_end = std::isinf(z) ? 1 : z * Phi2(z);
    const double at_start = std::isinf(z) ? 0 : z * (Phi1(z) - Phi2(z));
    const double value_at_start = step_ * Phi2(step_);
    const double value_at_end = step_ * (Phi1(step_) - Phi2(step_));
    std::vector<double> interval(steps_ + 1);
    double feed = Feed(interval, 0);
    double fresh = 0;
    for (size_t i = 0; i < steps_; ++i) {
      const double next_feed = Feed(interval, i + 1);
      interval[i + 1] = stays * interval[i] + at_start * feed + at_end * next_feed;
      feed = next_feed;
      fresh += std::exp(-step_ * static_cast<double>(i)) *
               (value_at_start * interval[i] + value_at_end * interval[i + 1]);
    }
    MultiSourceOutcome outcome;
    outcome.value = importance * fresh;
    outcome.interval = interval[steps_];
    outcome.fresh_time = fresh + std::exp(-step_ * static_cast<double>(steps_)) * outcome.interval;
    return outcome;
  }

 private:
  void Add(const SourceRates& source) {
    if (source.signal_rate == 0 || source.signal_weight == 0) return;
    const double position = source.signal_weight / step_;
    // All signals that weigh more than the whole grid end the interval in the same way.
    if (position >= static_cast<double>(steps_) + 1) return AddAt(steps_ + 1, source.signal_rate);
    const double below = std::floor(position);
    const auto steps = static_cast<size_t>(below);
    if (steps > 0) AddAt(steps, source.signal_rate * (1 - (position - below)));
    AddAt(steps + 1, source.signal_rate * (position - below));
  }

  void AddAt(size_t steps, double rate) {
    if (rate == 0) return;
    sources_.push_back({steps, rate});
    gamma_ += rate;
  }

  // 1/gamma + sum_k g_k psi(v - kappa_k) at that point.
  [[nodiscard]] double Feed(const std::vector<double>& interval, size_t i) const {
    double feed = 1 / gamma_;
    for (const GridSource& source : sources_) {
      if (source.steps <= i) feed += source.share * interval[i - source.steps];
    }
    return feed;
  }

  const double alpha_;
  const double step_;
  const size_t steps_;
  std::vector<GridSource> sources_;
  double gamma_ = 0;
};

double Apart(double a, double b) { return a == b ? 0 : std::abs(a - b) / std::max(a, b); }

double Apart(const MultiSourceOutcome& a, const MultiSourceOutcome& b) {
  return std::max(
      {Apart(a.value, b.value), Apart(a.interval, b.interval), Apart(a.fresh_time, b.fresh_time)});
}

}  // namespace

MultiSourceOutcome EvaluateMultiSourceOnGrid(const MultiSourcePage& page, double s) {
  CHECK(s > 0 && std::isfinite(s), "s = {}", s);
  CHECK(page.Ceiling() > 0 || page.importance == 0, "staleness that never grows");
  MultiSourceOutcome outcome = StalenessGrid(page, s, kFewestSteps).Solve(page.importance);
  // On each grid, a weight lies at a different place between two points, and so the error is
  // different. Two grids can agree by chance, but three hardly can.
  double apart_before = std::numeric_limits<double>::infinity();
  for (size_t steps = 2 * kFewestSteps;; steps *= 2) {
    const MultiSourceOutcome coarser = outcome;
    outcome = StalenessGrid(page, s, steps).Solve(page.importance);
    const double apart = Apart(coarser, outcome);
    outcome.accuracy = std::max(apart, apart_before);
    if (outcome.accuracy <= kEnough || steps == kMostSteps) return outcome;
    apart_before = apart;
  }
}

}  // namespace freshet
