// Measures rate plans of 100,000 pages on one core (freshet-bench plan measures the full size), and
// the function on which the solvers of lds and frontera spend most of their time.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "core/plan/equal_intervals.h"
#include "core/plan/planner.h"

namespace freshet {
namespace {

constexpr size_t kPages = 100'000;

struct Columns {
  std::vector<double> importance;
  std::vector<double> change_rate;
  std::vector<uint8_t> complete;
};

const Columns& Pages() {
  static const Columns kColumns = [] {
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    Columns made;
    for (size_t i = 0; i < kPages; ++i) {
      made.importance.push_back(std::exp(1.5 * normal(random)));
      made.change_rate.push_back(std::exp(1.5 * normal(random) - 2));
      made.complete.push_back(random() % 25 == 0 ? 1 : 0);
    }
    return made;
  }();
  return kColumns;
}

void Plan(benchmark::State& state, PlanMethod method) {
  const Columns& columns = Pages();
  const PlanPages pages{columns.importance, columns.change_rate, columns.complete};
  for (auto _ : state) {
    const auto plan = MakePlan(method, pages, 0.2 * kPages);
    if (!plan.ok()) std::abort();
    benchmark::DoNotOptimize(plan->price);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kPages));
}

const int kRegistered = [] {
  for (const PlanMethod method : AllPlanMethods()) {
    benchmark::RegisterBenchmark(("Plan/" + std::string(PlanMethodName(method))).c_str(),
                                 [method](benchmark::State& state) { Plan(state, method); });
  }
  return 0;
}();

void Inverse(benchmark::State& state) {
  std::mt19937_64 random(2);
  std::vector<double> arguments(4096);
  for (double& y : arguments) y = static_cast<double>(random() >> 11) * 0x1p-53;
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(InverseCrawlGain(arguments[next]));
    next = (next + 1) % arguments.size();
  }
}
BENCHMARK(Inverse);

}  // namespace
}  // namespace freshet
