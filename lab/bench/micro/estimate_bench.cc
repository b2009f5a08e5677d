// Measures estimates of change rates per second on one core, with 20 observations of each page. The
// result is items_per_second.
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <random>
#include <vector>

#include "benchmark/benchmark.h"
#include "core/estimate/cho_gm.h"
#include "core/estimate/mle.h"
#include "lab/methods/moment.h"

namespace freshet {
namespace {

constexpr size_t kPages = 2000;
constexpr size_t kObservations = 20;

// Pages whose change rates, signal rates and weights spread over two decades, crawled at irregular
// intervals.
const std::vector<Observations>& Pages() {
  static const std::vector<Observations> kAll = [] {
    std::mt19937_64 random(1);
    std::exponential_distribution<double> exponential(1.0);
    std::normal_distribution<double> normal;
    std::vector<Observations> all;
    for (size_t page = 0; page < kPages; ++page) {
      const double alpha = 0.5 * std::exp(normal(random));
      const double gamma = 0.5 * std::exp(normal(random));
      const double kappa = std::exp(normal(random));
      Observations& observations = all.emplace_back(1);
      for (size_t i = 0; i < kObservations; ++i) {
        const double tau = 0.05 + exponential(random);
        const double n = std::poisson_distribution<int>(gamma * tau)(random);
        const bool changed = exponential(random) < alpha * tau + kappa * n;
        if (!observations.Add(tau, {&n, 1}, changed).ok()) std::abort();
      }
    }
    return all;
  }();
  return kAll;
}

template <typename Estimate>
void Run(benchmark::State& state, const Estimate& estimate) {
  const std::vector<Observations>& pages = Pages();
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(estimate(pages[next]));
    next = next + 1 == pages.size() ? 0 : next + 1;
  }
  state.SetItemsProcessed(state.iterations());
}

void Mle(benchmark::State& state) {
  Run(state, [](const Observations& page) { return EstimateMle(page).unsignalled_rate; });
}
BENCHMARK(Mle);

void ChoGm(benchmark::State& state) {
  Run(state, [](const Observations& page) { return EstimateChoGm(page).change_rate; });
}
BENCHMARK(ChoGm);

void Moment(benchmark::State& state) {
  Run(state, [](const Observations& page) { return EstimateMoment(page).change_rate; });
}
BENCHMARK(Moment);

void MleWithInterval(benchmark::State& state) {
  Run(state, [](const Observations& page) {
    return MleChangeRateInterval(page, EstimateMle(page), 0.05).high;
  });
}
BENCHMARK(MleWithInterval);

void ChoGmWithInterval(benchmark::State& state) {
  Run(state,
      [](const Observations& page) { return ChoGmInterval(page, EstimateChoGm(page), 0.05).high; });
}
BENCHMARK(ChoGmWithInterval);

}  // namespace
}  // namespace freshet
