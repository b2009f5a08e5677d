// ncis-fig5: a corpus of noisy signals, and policies with wrong numbers for the signals' quality.
#include <algorithm>
#include <memory>
#include <utility>

#include "lab/paper/corpus.h"
#include "lab/paper/instances.h"
#include "lab/paper/noisy_signals.h"
#include "lab/sim/slot_policies.h"
#include "lab/sim/synthetic_worlds.h"

namespace freshet {
namespace {

// With 100,000 pages, there are 5,000 crawls a step, for 200 steps. With fewer pages, there are
// proportionally fewer crawls.
constexpr int kCorpusPages = 100'000;
constexpr double kCorpusCrawlsPerPage = 0.05;
constexpr double kCorpusHorizon = 200;
constexpr double kCorruptions[] = {0, 0.1, 0.2};

// Two possible meanings of p, which the paper does not define. The result should not depend on the
// choice of one of them.
enum class Corruption : uint8_t {
  kRedrawn,  // with probability p precision and recall are redrawn as for a noisy page
  kShifted,  // both are shifted by uniform (-p, p), within their range
};

struct CorpusLine {
  std::string name;
  std::string policy;
  Corruption corruption;
};

const std::vector<CorpusLine>& CorpusLines() {
  static const std::vector<CorpusLine> kLines = {
      {"greedy", "greedy", Corruption::kRedrawn},
      {"greedy_cis_plus", "greedy_cis_plus", Corruption::kRedrawn},
      {"greedy_ncis", "greedy_ncis", Corruption::kRedrawn},
      {"greedy_cis_plus, shifted", "greedy_cis_plus", Corruption::kShifted},
      {"greedy_ncis, shifted", "greedy_ncis", Corruption::kShifted}};
  return kLines;
}

// Returns the pages as a policy sees them. Pages without signals stay unchanged. The random numbers
// do not depend on p, so that a larger p affects the same pages and further ones.
std::vector<PaperRates> ToldPages(std::vector<PaperRates> pages, Corruption corruption, double p,
                                  Random random) {
  for (PaperRates& page : pages) {
    const double chance = random.Uniform();
    const double first = random.Uniform();
    const double second = random.Uniform();
    if (page.recall == 0) continue;
    const double true_rate = page.recall * page.change_rate;
    double precision = true_rate / (true_rate + page.false_signal_rate);
    if (corruption == Corruption::kShifted) {
      page.recall = std::clamp(page.recall + p * (2 * first - 1), 0.0, 1.0);
      precision = std::clamp(precision + p * (2 * second - 1), 0.05, 1.0);
    } else if (chance < p) {
      page.recall = first;
      precision = 0.1 + 0.9 * second;
    }
    page.false_signal_rate = FalseSignalRate(page.change_rate, page.recall, precision);
  }
  return pages;
}

StatusOr<double> CorpusAccuracy(const CorpusLine& line, double p, int size, double horizon,
                                InstanceSeeds seeds) {
  const SyntheticWorld world{
      .name = "ncis-fig5", .signals = true, .false_signals = true, .delayed = false};
  const Random errors = seeds.pages.Split();
  const std::vector<PaperRates> pages = DrawCorpus(size, CorpusSignals::kNoisy, seeds.pages);
  const double crawl_rate = kCorpusCrawlsPerPage * size;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<SlotPolicy> policy,
      MakeSlotPolicy(line.policy, ToldPages(pages, line.corruption, p, errors), crawl_rate));
  return Simulate(world, pages, crawl_rate, horizon, seeds.events, *policy);
}

PaperPlan PlanCorpusFigure(const PaperOptions& options) {
  const int size = options.pages.empty() ? kCorpusPages : options.pages.front();
  const double horizon = options.horizon > 0 ? options.horizon : kCorpusHorizon;
  PaperPlan plan{.result = {.title = "A corpus whose signals are believed wrongly",
                            .x_name = "corruption",
                            .x_label = "corruption p of precision and recall",
                            .y_label = "accuracy: share of requests served fresh",
                            .x = {std::begin(kCorruptions), std::end(kCorruptions)},
                            .reference = 0}};
  for (const CorpusLine& line : CorpusLines()) {
    const size_t series = plan.result.series.size();
    plan.result.series.push_back({.name = line.name});
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      const InstanceSeeds seeds = SeedsOf(options.seed, size, repeat);
      // greedy ignores signals, so it is played only once.
      if (line.policy == "greedy") {
        plan.parts.push_back(
            {.series = series, .repeat = repeat, .play = [=]() -> StatusOr<std::vector<double>> {
               ASSIGN_OR_RETURN(const double accuracy,
                                CorpusAccuracy(line, 0, size, horizon, seeds));
               return std::vector<double>(std::size(kCorruptions), accuracy);
             }});
        continue;
      }
      for (size_t i = 0; i < std::size(kCorruptions); ++i) {
        plan.parts.push_back({.series = series,
                              .repeat = repeat,
                              .first_x = i,
                              .play = [=]() -> StatusOr<std::vector<double>> {
                                ASSIGN_OR_RETURN(
                                    const double accuracy,
                                    CorpusAccuracy(line, kCorruptions[i], size, horizon, seeds));
                                return std::vector<double>{accuracy};
                              }});
      }
    }
  }
  return plan;
}

}  // namespace

PaperExperiment NoisyCorpusExperiment() {
  return {.summary = {"ncis-fig5", "a corpus whose signals the policies are told wrongly of"},
          .many_sizes = false,
          .plan = PlanCorpusFigure};
}

}  // namespace freshet
