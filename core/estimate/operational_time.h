// Operational time. Real pages change in bursts, so the chance of another event depends on the age
// u of the last event. The curve G(u), pooled over a site, is the intensity of events at age u
// relative to the page's mean rate. In operational time, dt' = G(u) dt, every page is a Poisson
// process (docs/model.md, "The default estimator"). Cox and Lewis ("The statistical analysis of
// series of events", 1966) call this a modulated renewal process.
#ifndef FRESHET_CORE_ESTIMATE_OPERATIONAL_TIME_H_
#define FRESHET_CORE_ESTIMATE_OPERATIONAL_TIME_H_

#include <array>
#include <cstddef>

namespace freshet {

inline constexpr int kAgeBins = 8;
// A learned curve keeps at most this share of its logarithm. The rates of pages rise with every
// event and then fade, so they already reflect part of the clustering. docs/experiments.md measures
// the gain.
inline constexpr double kAgeCurveKept = 0.7;
// The ages, in days, at which the curve steps. Bin b is from kAgeEdges[b - 1] to kAgeEdges[b]. The
// last bin has no end.
inline constexpr std::array<double, kAgeBins - 1> kAgeEdges = {1, 3, 10, 30, 100, 300, 1000};

// The piecewise constant curve G. Ages are in days and >= 0. Invariant: every level is finite
// and > 0. Value type, thread-compatible.
class AgeCurve {
 public:
  using Levels = std::array<double, kAgeBins>;

  // G = 1: operational time is wall-clock time.
  AgeCurve();
  // Precondition: every level is finite and > 0.
  explicit AgeCurve(const Levels& levels);

  [[nodiscard]] static int BinOf(double age);
  // The age at which the bin ends; infinite for the last bin.
  [[nodiscard]] static double EndOf(int bin);

  [[nodiscard]] double Level(int bin) const { return levels_[static_cast<size_t>(bin)]; }
  // The mean of G over the kHorizonDays that start with `bin`. They stand for the near future, over
  // which a crawl is valued.
  [[nodiscard]] double Ahead(int bin) const { return ahead_[static_cast<size_t>(bin)]; }
  // Operational days between the ages `from` and `to`; 0 for to <= from.
  [[nodiscard]] double Integral(double from, double to) const;
  [[nodiscard]] const Levels& levels() const { return levels_; }

  static constexpr double kHorizonDays = 30;

 private:
  Levels levels_;
  Levels ahead_;
};

// Counts from which the curve is learned. `events`: the number of events in each bin of ages.
// `expected`: the number expected there if G were 1, which is (rate of the page) x
// (days spent in the bin), summed over pages. Value type, thread-compatible.
struct AgeCounts {
  AgeCurve::Levels events{};
  AgeCurve::Levels expected{};

  // Adds a page with `rate` events a day that was watched from age `from` to age `to`, in days.
  void AddExposure(double rate, double from, double to);
  void AddEvent(double age) { events[static_cast<size_t>(AgeCurve::BinOf(age))] += 1; }
  // Adds an event at an unknown age between `from` and `to`, each equally likely, and the exposure
  // until the event. Precondition: from < to.
  void AddCensored(double rate, double from, double to);
  void Add(const AgeCounts& other);
  // Multiplies every count by `factor` in [0, 1].
  void Fade(double factor);

  // The curve relative to `prior`: G/prior = (events + 5)/(c prior expected + 5) in each bin. c
  // makes the sum of `events` equal to that of c prior expected, so it does not matter what share
  // of a page's events `rate` includes. The logarithm is then shrunk towards 0 by the factor
  // kAgeCurveKept max(0, 1 - (bins - 1)/deviance) (James and Stein 1961), where `deviance` is that
  // of the counts from `prior`. If events come evenly, noise is therefore not mistaken for a curve.
  [[nodiscard]] AgeCurve Fit(const AgeCurve& prior) const;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_OPERATIONAL_TIME_H_
