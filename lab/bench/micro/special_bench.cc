// Compares our incomplete gamma function and root finder with those of Boost.Math, on the same
// inputs (docs/decisions/0011). The reported time is that of one call. The counter `digest` is the
// sum of all answers, which agree except for rounding.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

#include "benchmark/benchmark.h"
#include "boost/math/special_functions/gamma.hpp"
#include "boost/math/tools/roots.hpp"
#include "core/base/root.h"
#include "core/model/gamma.h"

namespace freshet {
namespace {

constexpr size_t kInputs = 1024;

struct Input {
  double a = 0;
  double x = 0;
};

// Orders and arguments that are typical of crawl values: small orders, on both sides of the
// diagonal.
std::vector<Input> Inputs(double largest_order) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<Input> inputs;
  for (size_t i = 0; i < kInputs; ++i) {
    const double a = 1 + std::floor(uniform(random) * largest_order);
    inputs.push_back({a, 2 * a * uniform(random)});
  }
  return inputs;
}

template <typename Function>
void Run(benchmark::State& state, const std::vector<Input>& inputs, Function&& function) {
  double digest = 0;
  for (const Input& input : inputs) digest += function(input);
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(function(inputs[i]));
    i = (i + 1) % kInputs;
  }
  state.counters["digest"] = digest;
}

void BM_Gamma(benchmark::State& state, double largest_order) {
  Run(state, Inputs(largest_order),
      [](const Input& in) { return RegularizedGamma(in.a, in.x).lower; });
}
void BM_GammaOfBoost(benchmark::State& state, double largest_order) {
  Run(state, Inputs(largest_order),
      [](const Input& in) { return boost::math::gamma_p(in.a, in.x); });
}

// Finds the rate x at which 1 - e^-x - y x rises through zero: The equation, the bracket and the
// first guess are like those of the estimators.
struct Rising {
  double y = 0;
  [[nodiscard]] ValueAndSlope operator()(double x) const {
    return {.value = y * x + std::expm1(-x), .slope = y - std::exp(-x)};
  }
};
Rising RisingOf(const Input& input) { return {0.05 + 0.9 * input.x / (2 * input.a)}; }
double LeastOf(const Rising& rising) { return -std::log(rising.y); }

void BM_Root(benchmark::State& state) {
  Run(state, Inputs(32), [](const Input& in) {
    const Rising rising = RisingOf(in);
    return FindRoot(rising, LeastOf(rising), 1 / rising.y, 1 / rising.y - 1e-3, 1e-12);
  });
}
void BM_RootOfBoost(benchmark::State& state) {
  Run(state, Inputs(32), [](const Input& in) {
    const Rising rising = RisingOf(in);
    const auto value_and_slope = [&rising](double x) {
      const ValueAndSlope at = rising(x);
      return std::make_tuple(at.value, at.slope);
    };
    std::uintmax_t most = 200;
    return boost::math::tools::newton_raphson_iterate(value_and_slope, 1 / rising.y - 1e-3,
                                                      LeastOf(rising), 1 / rising.y, 40, most);
  });
}

BENCHMARK_CAPTURE(BM_Gamma, orders_to_8, 8);
BENCHMARK_CAPTURE(BM_GammaOfBoost, orders_to_8, 8);
BENCHMARK_CAPTURE(BM_Gamma, orders_to_1000, 1000);
BENCHMARK_CAPTURE(BM_GammaOfBoost, orders_to_1000, 1000);
BENCHMARK(BM_Root);
BENCHMARK(BM_RootOfBoost);

}  // namespace
}  // namespace freshet
