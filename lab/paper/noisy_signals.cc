#include "lab/paper/noisy_signals.h"

#include <memory>
#include <utility>

#include "core/base/random.h"
#include "core/model/policy.h"
#include "core/plan/continuous_optimum.h"
#include "fmt/format.h"
#include "lab/paper/instances.h"
#include "lab/sim/slot_policies.h"
#include "lab/sim/synthetic_worlds.h"

namespace freshet {
namespace {

// Names that are shown instead of a policy's own in the lines of a figure.
constexpr const char* kOptimum = "continuous optimum";
constexpr const char* kPlainOptimum = "optimum without signals";

// A line of a figure: a policy, or an optimum, in a world.
struct AccuracyLine {
  std::string name;
  std::string world;
  std::string policy;
};

StatusOr<double> AccuracyOf(const AccuracyLine& line, int size, double horizon,
                            const InstanceSeeds& seeds) {
  ASSIGN_OR_RETURN(const SyntheticWorld world, ParseSyntheticWorld(line.world));
  const std::vector<PaperRates> pages = DrawPages(world, size, seeds.pages);
  if (line.policy == kPlainOptimum) return PlainOptimum(pages, kPaperCrawlRate);
  if (line.policy == kOptimum) {
    return world.signals ? SignalOptimum(pages, kPaperCrawlRate)
                         : PlainOptimum(pages, kPaperCrawlRate);
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<SlotPolicy> policy,
                   MakeSlotPolicy(line.policy, pages, kPaperCrawlRate));
  return Simulate(world, pages, kPaperCrawlRate, horizon, seeds.events, *policy);
}

// Returns about how many seconds it takes to play the line.
double CostOf(const AccuracyLine& line, int pages, double horizon) {
  const double units = horizon / kPaperHorizon;
  if (line.policy == kOptimum || line.policy == kPlainOptimum) return 3e-5 * pages;
  if (line.policy == "lds") return units * (0.05 + 3e-4 * pages);
  return units * (0.1 + (line.world == "ncis-fig2" ? 3e-4 : 6e-4) * pages);
}

// A figure that shows accuracy over the number of pages.
struct AccuracyFigure {
  std::string title;
  std::vector<int> pages;
  bool log_x = false;
  std::vector<AccuracyLine> lines;
  size_t reference = 0;
};

PaperPlan PlanAccuracy(const AccuracyFigure& figure, const PaperOptions& options) {
  PaperPlan plan{.result = {.title = figure.title,
                            .x_name = "pages",
                            .x_label = "pages m",
                            .y_label = "accuracy: share of requests served fresh",
                            .log_x = figure.log_x,
                            .reference = figure.reference}};
  for (const AccuracyLine& line : figure.lines) plan.result.series.push_back({.name = line.name});
  const double horizon = options.horizon > 0 ? options.horizon : kPaperHorizon;
  for (const int pages : options.pages.empty() ? figure.pages : options.pages) {
    const size_t place = plan.result.x.size();
    plan.result.x.push_back(pages);
    for (size_t s = 0; s < figure.lines.size(); ++s) {
      const AccuracyLine& line = figure.lines[s];
      for (int repeat = 0; repeat < options.repeats; ++repeat) {
        const InstanceSeeds seeds = SeedsOf(options.seed, pages, repeat);
        plan.parts.push_back({.series = s,
                              .repeat = repeat,
                              .first_x = place,
                              .cost = CostOf(line, pages, horizon),
                              .play = [=]() -> StatusOr<std::vector<double>> {
                                ASSIGN_OR_RETURN(const double accuracy,
                                                 AccuracyOf(line, pages, horizon, seeds));
                                return std::vector<double>{accuracy};
                              }});
      }
    }
  }
  return plan;
}

// Returns lines for policies and optima of one world under their own names.
std::vector<AccuracyLine> LinesOf(const std::string& world, const std::vector<std::string>& names) {
  std::vector<AccuracyLine> lines;
  for (const std::string& name : names) lines.push_back({name, world, name});
  return lines;
}

PaperExperiment AccuracyExperiment(PaperSummary summary, AccuracyFigure figure) {
  return {.summary = std::move(summary),
          .plan = [figure = std::move(figure)](const PaperOptions& options) {
            return PlanAccuracy(figure, options);
          }};
}

const std::vector<int> kHundreds = {100, 200, 300, 400, 500, 600, 700, 800, 900, 1000};

PaperExperiment Figure2() {
  return AccuracyExperiment(
      {"ncis-fig2", "without signals: greedy and lds against the continuous optimum"},
      {.title = "Without signals",
       .pages = kHundreds,
       .lines = LinesOf("ncis-fig2", {"greedy", "lds", kOptimum}),
       .reference = 2});
}

PaperExperiment Figure3() {
  return AccuracyExperiment(
      {"ncis-fig3", "signals that are never false: what heeding them is worth"},
      {.title = "Signals that are never false, recall Beta(1/4, 1/4)",
       .pages = kHundreds,
       .lines = LinesOf("ncis-fig3", {"greedy", "greedy_cis", kOptimum, kPlainOptimum}),
       .reference = 2});
}

PaperExperiment Figure4() {
  return AccuracyExperiment(
      {"ncis-fig4", "noisy signals: ignored, believed, weighed, and weighed roughly"},
      {.title = "Noisy signals, false ones at rates uniform on (0.1, 0.6)",
       .pages = {100, 200, 500, 1000, 2000, 5000, 10000},
       .log_x = true,
       .lines = LinesOf("ncis-fig4", {"greedy", "greedy_cis", "greedy_ncis", "ncis_approx_1",
                                      "ncis_approx_2", kOptimum}),
       .reference = 2});
}

// The page with noisy signals in figure 6. Half of its changes are signalled, and it has as many
// false signals as changes.
constexpr PaperRates kFigure6Page = {
    .importance = 1, .change_rate = 1, .recall = 0.5, .false_signal_rate = 1};

PaperPlan PlanFigure6() {
  PaperPlan plan{.result = {.title = "Crawl value and its first terms",
                            .x_name = "effective_time",
                            .x_label = "effective elapsed time, in mean times between changes",
                            .y_label = "crawl value, in units of μ/Δ"}};
  constexpr int kPoints = 121;
  constexpr double kLongest = 12;
  for (int i = 0; i < kPoints; ++i) plan.result.x.push_back(kLongest * i / (kPoints - 1));
  const PageRates rates = RatesFromPaper(kFigure6Page);
  const std::vector<std::pair<std::string, Policy>> lines = {
      {"all terms", {.kind = PolicyKind::kGreedyNcis}},
      {"1 term", {.kind = PolicyKind::kNcisApprox, .terms = 1}},
      {"2 terms", {.kind = PolicyKind::kNcisApprox, .terms = 2}},
      {"3 terms", {.kind = PolicyKind::kNcisApprox, .terms = 3}}};
  for (const auto& [name, policy] : lines) {
    plan.parts.push_back({.series = plan.result.series.size(),
                          .play = [rates, policy = policy,
                                   times = plan.result.x]() -> StatusOr<std::vector<double>> {
                            const ValueParameters value =
                                MakeValueParameters(policy, kFigure6Page.importance, rates);
                            std::vector<double> values;
                            for (const double time : times) {
                              values.push_back(CrawlValue(value, rates.unsignalled_rate * time));
                            }
                            return values;
                          }});
    plan.result.series.push_back({.name = name});
  }
  plan.result.reference = 0;
  return plan;
}

PaperExperiment Figure6() {
  return {.summary = {"ncis-fig6",
                      "the crawl value of a page and its 1-, 2- and 3-term approximations"},
          .random = false,
          .plan = [](const PaperOptions&) { return PlanFigure6(); }};
}

PaperExperiment Figure8() {
  return AccuracyExperiment(
      {"ncis-fig8", "signals that come late: with and without discarding those soon after a crawl"},
      {.title = "Noisy signals that come late, 6 slots in the mean",
       .pages = {100, 200, 500, 750, 1000},
       .lines = {{"signals on time", "ncis-fig4", "greedy_ncis"},
                 {"late", "ncis-fig8", "greedy_ncis"},
                 {"late, discarded", "ncis-fig8", "greedy_ncis_d"}},
       .reference = 1});
}

// In figure 9, the crawl rate is kPaperCrawlRate, but kRaisedCrawlRate in the middle third of the
// horizon.
constexpr double kRaisedCrawlRate = 150;
constexpr int kFigure9Pages = 1000;
constexpr double kFigure9Horizon = 400;
constexpr int kFigure9Parts = 80;

std::vector<CrawlRateStep> Figure9Steps(size_t series, double horizon) {
  if (series == 0) return {{0, kPaperCrawlRate}};
  if (series == 1) return {{0, kRaisedCrawlRate}};
  return {
      {0, kPaperCrawlRate}, {horizon / 3, kRaisedCrawlRate}, {2 * horizon / 3, kPaperCrawlRate}};
}

PaperPlan PlanFigure9(const PaperOptions& options) {
  const int size = options.pages.empty() ? kFigure9Pages : options.pages.front();
  const double horizon = options.horizon > 0 ? options.horizon : kFigure9Horizon;
  PaperPlan plan{
      .result = {
          .title = fmt::format("greedy, {} pages, at a changing crawl rate", size),
          .x_name = "time",
          .x_label = "time t (R crawls a unit)",
          .y_label = "accuracy since the point before",
          .series = {{.name = "R = 100"}, {.name = "R = 150"}, {.name = "R = 100, 150, 100"}},
          .reference = 0}};
  for (int i = 1; i <= kFigure9Parts; ++i) {
    plan.result.x.push_back(horizon * i / kFigure9Parts);
  }
  for (size_t series = 0; series < plan.result.series.size(); ++series) {
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      const InstanceSeeds seeds = SeedsOf(options.seed, size, repeat);
      plan.parts.push_back(
          {.series = series, .repeat = repeat, .play = [=]() -> StatusOr<std::vector<double>> {
             ASSIGN_OR_RETURN(const SyntheticWorld world, ParseSyntheticWorld("ncis-fig2"));
             const std::vector<PaperRates> pages = DrawPages(world, size, seeds.pages);
             ASSIGN_OR_RETURN(const std::unique_ptr<SlotPolicy> policy,
                              MakeSlotPolicy("greedy", pages, kPaperCrawlRate));
             return SimulateOverTime(world, pages, Figure9Steps(series, horizon), horizon,
                                     kFigure9Parts, seeds.events, *policy);
           }});
    }
  }
  return plan;
}

PaperExperiment Figure9() {
  return {.summary = {"ncis-fig9", "greedy while the crawl rate goes from 100 to 150 and back"},
          .many_sizes = false,
          .plan = PlanFigure9};
}

}  // namespace

std::vector<PaperExperiment> NoisySignalsExperiments() {
  std::vector<PaperExperiment> all = {Figure2(), Figure3(), Figure4(), NoisyCorpusExperiment(),
                                      Figure6(), Figure8(), Figure9()};
  for (PaperExperiment& experiment : NoisyQualityExperiments()) all.push_back(experiment);
  for (PaperExperiment& experiment : NoisyRatesExperiments()) all.push_back(experiment);
  return all;
}

}  // namespace freshet
