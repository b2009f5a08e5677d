// value_bench: the cost of one crawl value and one inverse, by policy and by evaluation.
//
// Every benchmark walks 1024 pages drawn from a fixed seed, so that branches are as hard to predict
// as in an index and the pages stay in cache; the time is that of one call. The counter `digest` is
// the sum of all answers: equal digests mean equal work.
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "benchmark/benchmark.h"
#include "core/model/crawl_value.h"
#include "core/model/crossing.h"

namespace freshet {
namespace {

constexpr size_t kPages = 1024;

struct Sample {
  ValueParameters page;
  PageRates rates;
  double s = 0;
  double price = 0;
};

// How pages are drawn. This determines which evaluation of core/model/ncis_value.h they need.
enum class Draw { kAny, kFirstTerm, kUpToThreeTerms, kTenThousandTerms, kPoles, kTransition };

PageRates DrawRates(std::mt19937_64& random, Draw draw, double s) {
  std::uniform_real_distribution<double> uniform(0, 1);
  PageRates rates;
  if (draw == Draw::kAny) {  // the papers' parameters
    PaperRates paper{1, uniform(random), 0.05 + 0.9 * uniform(random), 0.1 + 0.5 * uniform(random)};
    return RatesFromPaper(paper);
  }
  double terms = 1;  // s/kappa
  double b = std::pow(10, -1 + 2 * uniform(random));
  if (draw == Draw::kFirstTerm) terms = 0.05 + 0.9 * uniform(random);
  if (draw == Draw::kUpToThreeTerms) terms = 2 + uniform(random);
  if (draw == Draw::kTenThousandTerms) terms = 1e4 * (1 + uniform(random));
  if (draw == Draw::kPoles) b = 3 + 5 * uniform(random), terms = 25 + 10 * uniform(random);
  if (draw == Draw::kTransition) b = 20 + 80 * uniform(random), terms = 25 + 15 * uniform(random);
  rates.unsignalled_rate = 0.1 + uniform(random);
  rates.signal_weight = s / terms;
  rates.signal_rate = rates.unsignalled_rate * b / rates.signal_weight;
  rates.staleness_rate = rates.unsignalled_rate;
  rates.change_rate = rates.unsignalled_rate - rates.signal_rate * std::expm1(-rates.signal_weight);
  return rates;
}

std::vector<Sample> DrawSamples(Policy policy, Draw draw) {
  std::mt19937_64 random(42);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<Sample> samples(kPages);
  for (Sample& sample : samples) {
    sample.s = 0.1 + 2 * uniform(random);
    sample.rates = DrawRates(random, draw, sample.s);
    sample.page = MakeValueParameters(policy, 0.1 + uniform(random), sample.rates);
    sample.price = CrawlValue(sample.page, sample.s);
  }
  return samples;
}

template <typename F>
void Walk(benchmark::State& state, Policy policy, Draw draw, F f) {
  const std::vector<Sample> samples = DrawSamples(policy, draw);
  double digest = 0;
  for (const Sample& sample : samples) digest += f(sample);
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(f(samples[i]));
    i = (i + 1) % kPages;
  }
  state.counters["digest"] = digest;
}

void BM_Value(benchmark::State& state, Policy policy, Draw draw) {
  Walk(state, policy, draw, [](const Sample& x) { return CrawlValue(x.page, x.s); });
}
void BM_Jet(benchmark::State& state, Policy policy, Draw draw) {
  Walk(state, policy, draw, [](const Sample& x) { return CrawlValueJet(x.page, x.s).slope; });
}
void BM_Inverse(benchmark::State& state, Policy policy, Draw draw) {
  Walk(state, policy, draw, [](const Sample& x) { return ExponentReaching(x.page, x.price); });
}
void BM_Prepare(benchmark::State& state, Policy policy, Draw draw) {
  Walk(state, policy, draw,
       [policy](const Sample& x) { return MakeValueParameters(policy, 1, x.rates).ceiling; });
}

constexpr Policy kGreedy{PolicyKind::kGreedy, 1};
constexpr Policy kCis{PolicyKind::kGreedyCis, 1};
constexpr Policy kNcis{PolicyKind::kGreedyNcis, 1};
constexpr Policy kApprox2{PolicyKind::kNcisApprox, 2};
constexpr Policy kHarmonic{PolicyKind::kHarmonic, 1};

BENCHMARK_CAPTURE(BM_Value, greedy, kGreedy, Draw::kAny);
BENCHMARK_CAPTURE(BM_Value, greedy_cis, kCis, Draw::kAny);
BENCHMARK_CAPTURE(BM_Value, harmonic, kHarmonic, Draw::kAny);
BENCHMARK_CAPTURE(BM_Value, ncis_approx_2, kApprox2, Draw::kAny);
BENCHMARK_CAPTURE(BM_Value, greedy_ncis, kNcis, Draw::kAny);
BENCHMARK_CAPTURE(BM_Value, greedy_ncis_1_term, kNcis, Draw::kFirstTerm);
BENCHMARK_CAPTURE(BM_Value, greedy_ncis_3_terms, kNcis, Draw::kUpToThreeTerms);
BENCHMARK_CAPTURE(BM_Value, greedy_ncis_10000_terms, kNcis, Draw::kTenThousandTerms);
BENCHMARK_CAPTURE(BM_Value, greedy_ncis_poles, kNcis, Draw::kPoles);
BENCHMARK_CAPTURE(BM_Value, greedy_ncis_transition, kNcis, Draw::kTransition);
BENCHMARK_CAPTURE(BM_Jet, greedy, kGreedy, Draw::kAny);
BENCHMARK_CAPTURE(BM_Jet, greedy_ncis, kNcis, Draw::kAny);
BENCHMARK_CAPTURE(BM_Inverse, greedy, kGreedy, Draw::kAny);
BENCHMARK_CAPTURE(BM_Inverse, greedy_cis, kCis, Draw::kAny);
BENCHMARK_CAPTURE(BM_Inverse, harmonic, kHarmonic, Draw::kAny);
BENCHMARK_CAPTURE(BM_Inverse, greedy_ncis, kNcis, Draw::kAny);
BENCHMARK_CAPTURE(BM_Inverse, greedy_ncis_3_terms, kNcis, Draw::kUpToThreeTerms);
BENCHMARK_CAPTURE(BM_Inverse, greedy_ncis_10000_terms, kNcis, Draw::kTenThousandTerms);
BENCHMARK_CAPTURE(BM_Inverse, greedy_ncis_poles, kNcis, Draw::kPoles);
BENCHMARK_CAPTURE(BM_Inverse, greedy_ncis_transition, kNcis, Draw::kTransition);
BENCHMARK_CAPTURE(BM_Prepare, greedy, kGreedy, Draw::kAny);
BENCHMARK_CAPTURE(BM_Prepare, greedy_ncis, kNcis, Draw::kAny);

}  // namespace
}  // namespace freshet
