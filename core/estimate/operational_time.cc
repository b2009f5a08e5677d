#include "core/estimate/operational_time.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/check.h"

namespace freshet {
namespace {

// The weight of the prior curve, in events of every bin.
constexpr double kPriorEvents = 5;

double BeginOf(int bin) { return bin == 0 ? 0 : kAgeEdges[static_cast<size_t>(bin - 1)]; }

}  // namespace

AgeCurve::AgeCurve() {
  levels_.fill(1);
  ahead_.fill(1);
}

AgeCurve::AgeCurve(const Levels& levels) : levels_(levels) {
  for (const double level : levels_) CHECK(std::isfinite(level) && level > 0, "level {}", level);
  for (int bin = 0; bin < kAgeBins; ++bin) {
    const double begin = BeginOf(bin);
    ahead_[static_cast<size_t>(bin)] = Integral(begin, begin + kHorizonDays) / kHorizonDays;
  }
}

int AgeCurve::BinOf(double age) {
  return static_cast<int>(std::upper_bound(kAgeEdges.begin(), kAgeEdges.end(), age) -
                          kAgeEdges.begin());
}

double AgeCurve::EndOf(int bin) {
  return bin < kAgeBins - 1 ? kAgeEdges[static_cast<size_t>(bin)]
                            : std::numeric_limits<double>::infinity();
}

double AgeCurve::Integral(double from, double to) const {
  double sum = 0;
  for (int bin = BinOf(from); from < to; ++bin) {
    const double end = std::min(to, EndOf(bin));
    sum += Level(bin) * (end - from);
    from = end;
  }
  return sum;
}

void AgeCounts::AddExposure(double rate, double from, double to) {
  for (int bin = AgeCurve::BinOf(from); from < to; ++bin) {
    const double end = std::min(to, AgeCurve::EndOf(bin));
    expected[static_cast<size_t>(bin)] += rate * (end - from);
    from = end;
  }
}

void AgeCounts::AddCensored(double rate, double from, double to) {
  DCHECK(from < to);
  const double span = to - from;
  for (int bin = AgeCurve::BinOf(from); from < to; ++bin) {
    const double end = std::min(to, AgeCurve::EndOf(bin));
    const size_t b = static_cast<size_t>(bin);
    events[b] += (end - from) / span;
    expected[b] += rate * (end - from) * (to - (from + end) / 2) / span;
    from = end;
  }
}

void AgeCounts::Add(const AgeCounts& other) {
  for (size_t bin = 0; bin < kAgeBins; ++bin) {
    events[bin] += other.events[bin];
    expected[bin] += other.expected[bin];
  }
}

void AgeCounts::Fade(double factor) {
  for (size_t bin = 0; bin < kAgeBins; ++bin) {
    events[bin] *= factor;
    expected[bin] *= factor;
  }
}

AgeCurve AgeCounts::Fit(const AgeCurve& prior) const {
  const double all_events = std::accumulate(events.begin(), events.end(), 0.0);
  double by_prior_in_all = 0;
  for (int bin = 0; bin < kAgeBins; ++bin) {
    by_prior_in_all += expected[static_cast<size_t>(bin)] * prior.Level(bin);
  }
  if (!(all_events > 0) || !(by_prior_in_all > 0)) return prior;
  const double scale = all_events / by_prior_in_all;
  double deviance = 0;
  std::array<double, kAgeBins> logs;
  for (int bin = 0; bin < kAgeBins; ++bin) {
    const size_t b = static_cast<size_t>(bin);
    const double by_prior = scale * expected[b] * prior.Level(bin);
    if (events[b] > 0 && by_prior > 0) deviance += 2 * events[b] * std::log(events[b] / by_prior);
    deviance -= 2 * (events[b] - by_prior);
    logs[b] = std::log((events[b] + kPriorEvents) / (by_prior + kPriorEvents));
  }
  const double keep = kAgeCurveKept * std::max(0.0, 1 - (kAgeBins - 1) / std::max(deviance, 1e-9));
  AgeCurve::Levels levels;
  for (int bin = 0; bin < kAgeBins; ++bin) {
    levels[static_cast<size_t>(bin)] =
        prior.Level(bin) * std::exp(keep * logs[static_cast<size_t>(bin)]);
  }
  return AgeCurve(levels);
}

}  // namespace freshet
