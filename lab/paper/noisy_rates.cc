// ncis-fig7, -fig12, -fig13 and -fig14: the crawl rates that policies give the pages of one
// instance, plotted over the rates of the continuous optimum.
#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "core/plan/continuous_optimum.h"
#include "fmt/format.h"
#include "lab/paper/instances.h"
#include "lab/paper/noisy_signals.h"
#include "lab/sim/slot_policies.h"
#include "lab/sim/synthetic_worlds.h"

namespace freshet {
namespace {

constexpr int kRatesPages = 200;

struct RatesFigure {
  std::string title;
  std::string world;
  std::vector<std::string> policies;
};

// The optimum of an instance. Its pages are in the order of their optimal rates.
struct OptimumByRate {
  std::vector<double> rate;
  std::vector<size_t> page;
};

StatusOr<OptimumByRate> RankByRate(const SyntheticWorld& world,
                                   const std::vector<PaperRates>& pages) {
  OptimalCrawls optimum;
  if (world.signals) {
    optimum = PlanWithSignals(pages, kPaperCrawlRate);
  } else {
    ASSIGN_OR_RETURN(optimum, PlanWithoutSignals(pages, kPaperCrawlRate));
  }
  OptimumByRate ranked{.page = std::vector<size_t>(pages.size())};
  std::iota(ranked.page.begin(), ranked.page.end(), size_t{0});
  std::stable_sort(ranked.page.begin(), ranked.page.end(),
                   [&](size_t a, size_t b) { return optimum.rate[a] < optimum.rate[b]; });
  for (const size_t page : ranked.page) ranked.rate.push_back(optimum.rate[page]);
  return ranked;
}

StatusOr<std::vector<double>> RatesOf(const std::string& policy_name, const SyntheticWorld& world,
                                      const std::vector<PaperRates>& pages,
                                      const std::vector<size_t>& order, double horizon,
                                      Random events) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SlotPolicy> policy,
                   MakeSlotPolicy(policy_name, pages, kPaperCrawlRate));
  const SimulatedCosts run =
      SimulateCosts(world, pages, kPaperCrawlRate, 0, horizon, events, *policy);
  std::vector<double> rates;
  for (const size_t page : order) rates.push_back(run.crawls[page] / horizon);
  return rates;
}

StatusOr<PaperPlan> PlanRates(const RatesFigure& figure, const PaperOptions& options) {
  const int size = options.pages.empty() ? kRatesPages : options.pages.front();
  const double horizon = options.horizon > 0 ? options.horizon : kPaperHorizon;
  ASSIGN_OR_RETURN(const SyntheticWorld world, ParseSyntheticWorld(figure.world));
  // All repeats have the same pages and differ only in their events.
  const std::vector<PaperRates> pages =
      DrawPages(world, size, SeedsOf(options.seed, size, 0).pages);
  ASSIGN_OR_RETURN(OptimumByRate ranked, RankByRate(world, pages));
  PaperPlan plan{.result = {.title = fmt::format("{}, {} pages", figure.title, size),
                            .x_name = "optimal_rate",
                            .x_label = "optimal crawls per unit of time, a point a page",
                            .y_label = "crawls per unit of time",
                            .form = PlotForm::kScatter,
                            .x = std::move(ranked.rate)}};
  for (const std::string& policy : figure.policies) {
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      const Random events = SeedsOf(options.seed, size, repeat).events;
      plan.parts.push_back({.series = plan.result.series.size(),
                            .repeat = repeat,
                            .play = [=, order = ranked.page]() -> StatusOr<std::vector<double>> {
                              return RatesOf(policy, world, pages, order, horizon, events);
                            }});
    }
    plan.result.series.push_back({.name = policy});
  }
  return plan;
}

PaperExperiment RatesExperiment(PaperSummary summary, RatesFigure figure) {
  return {.summary = std::move(summary),
          .many_sizes = false,
          .plan = [figure = std::move(figure)](const PaperOptions& options) {
            return PlanRates(figure, options);
          }};
}

}  // namespace

std::vector<PaperExperiment> NoisyRatesExperiments() {
  return {
      RatesExperiment({"ncis-fig7", "crawl rates of greedy and lds, page by page, over optimal"},
                      {.title = "Crawl rates without signals",
                       .world = "ncis-fig2",
                       .policies = {"greedy", "lds"}}),
      RatesExperiment({"ncis-fig12", "the same of greedy_cis with signals that are never false"},
                      {.title = "Crawl rates with signals that are never false",
                       .world = "ncis-fig3",
                       .policies = {"greedy_cis"}}),
      RatesExperiment({"ncis-fig13", "the same of greedy_ncis with noisy signals"},
                      {.title = "Crawl rates with noisy signals",
                       .world = "ncis-fig4",
                       .policies = {"greedy_ncis"}}),
      RatesExperiment({"ncis-fig14", "the same of its approximations and of greedy_cis"},
                      {.title = "Crawl rates with noisy signals, weighed roughly",
                       .world = "ncis-fig4",
                       .policies = {"ncis_approx_1", "ncis_approx_2", "greedy_cis"}})};
}

}  // namespace freshet
