#include "lab/paper/lambda_crawl.h"

#include <algorithm>
#include <memory>
#include <numbers>
#include <utility>

#include "core/plan/binary.h"
#include "core/plan/lambda_crawl.h"
#include "core/plan/planner.h"
#include "core/plan/rate_columns.h"
#include "lab/methods/learners.h"
#include "lab/paper/corpus.h"
#include "lab/paper/instances.h"
#include "lab/paper/learning.h"
#include "lab/sim/slot_policies.h"
#include "lab/sim/synthetic_worlds.h"

namespace freshet {
namespace {

constexpr double kCrawlsPerPage = 0.2;  // a day
constexpr double kFloor = 0.4;          // floor of blc_eps
constexpr int kCostPages = 100'000;
constexpr int kSimulatedPages = 10'000;
constexpr double kCostHorizon = 1000;

// The bars of a plot at x = 0, 1, 2.
const std::vector<std::string> kCostNames = {"J_h (harmonic)", "J_b (binary)", "% never crawled"};

std::vector<PaperRates> PagesWithSignals(int size, Random random) {
  return DrawCorpus(size, CorpusSignals::kComplete, random);
}

struct CostLine {
  std::string name;
  std::string policy;
};

struct CostFigure {
  std::string title;
  int pages = kCostPages;
  bool complete_only = false;  // only with the pages that have complete signals
  bool simulated = false;      // simulated with one crawl a slot; false = costs are computed
  std::vector<CostLine> lines;
};

// Values of the three bars.
std::vector<double> CostBars(double j_h, double j_b, size_t starved, size_t pages) {
  return {j_h, j_b, 100.0 * static_cast<double>(starved) / static_cast<double>(pages)};
}

StatusOr<std::vector<double>> SimulatedBars(const std::string& policy_name,
                                            const std::vector<PaperRates>& pages, double crawl_rate,
                                            double horizon, Random events) {
  const SyntheticWorld world{
      .name = "lambda", .signals = true, .false_signals = false, .delayed = false};
  ASSIGN_OR_RETURN(const std::unique_ptr<SlotPolicy> policy,
                   MakeSlotPolicy(policy_name, pages, crawl_rate));
  // The first tenth of the horizon does not count, because all pages start fresh.
  const SimulatedCosts costs =
      SimulateCosts(world, pages, crawl_rate, horizon / 10, horizon, events, *policy);
  const auto starved = std::count(costs.crawls.begin(), costs.crawls.end(), 0U);
  return CostBars(costs.j_h, costs.j_b, static_cast<size_t>(starved), pages.size());
}

StatusOr<std::vector<double>> ComputedBars(const std::string& method_name,
                                           const RateColumns& columns, double crawl_rate) {
  ASSIGN_OR_RETURN(const PlanMethod method, ParsePlanMethod(method_name));
  ASSIGN_OR_RETURN(const RatePlan plan,
                   MakePlan(method, columns.pages(), crawl_rate, {.epsilon = kFloor}));
  const PlanCosts costs = ComputePlanCosts(columns.pages(), plan, CrawlTimes::kPoisson);
  size_t starved = 0;
  for (size_t i = 0; i < plan.rate.size(); ++i) {
    if (plan.rate[i] == 0 && (plan.probability.empty() || plan.probability[i] == 0)) ++starved;
  }
  return CostBars(costs.j_h, costs.j_b, starved, plan.rate.size());
}

StatusOr<std::vector<double>> BarsOf(const CostFigure& figure, const CostLine& line, int size,
                                     double horizon, const InstanceSeeds& seeds) {
  std::vector<PaperRates> pages = PagesWithSignals(size, seeds.pages);
  if (figure.complete_only) {
    for (PaperRates& page : pages) page.recall = 1;
  }
  const double crawl_rate = kCrawlsPerPage * size;
  return figure.simulated ? SimulatedBars(line.policy, pages, crawl_rate, horizon, seeds.events)
                          : ComputedBars(line.policy, ColumnsOf(pages), crawl_rate);
}

PaperPlan PlanCostFigure(const CostFigure& figure, const PaperOptions& options) {
  const int size = options.pages.empty() ? figure.pages : options.pages.front();
  const double horizon = options.horizon > 0 ? options.horizon : kCostHorizon;
  PaperPlan plan{.result = {.title = figure.title,
                            .x_name = "cost",
                            .x_label = "",
                            .y_label = "cost per page, share of pages in %",
                            .form = PlotForm::kBars,
                            .categories = kCostNames,
                            .x = {0, 1, 2},
                            .reference = 0}};
  for (const CostLine& line : figure.lines) {
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      const InstanceSeeds seeds = SeedsOf(options.seed, size, repeat);
      plan.parts.push_back({.series = plan.result.series.size(), .repeat = repeat, .play = [=] {
                              return BarsOf(figure, line, size, horizon, seeds);
                            }});
    }
    plan.result.series.push_back({.name = line.name});
  }
  return plan;
}

PaperExperiment CostExperiment(PaperSummary summary, CostFigure figure) {
  return {
      .summary = std::move(summary),
      .many_sizes = false,
      .timed = figure.simulated,
      .plan = [figure](const PaperOptions& options) { return PlanCostFigure(figure, options); }};
}

// The epochs of a learner. Each cost is compared with the plan that knows the rates and minimises
// that cost.
constexpr int kLearningPages = 100'000;
constexpr int kLearningEpochs = 21;  // each lasts a day

struct EpochLine {
  std::string name;
  LearnerKind learner;
  bool known = false;  // plans with the true rates
};

// Returns the learner's J_h relative to that of the plan LC. For learners of the binary penalty,
// returns J_b relative to that of BLC.
StatusOr<double> CostRatio(LearnerKind kind, const RateColumns& columns, const RatePlan& plan,
                           double crawl_rate) {
  if (kind == LearnerKind::kBinaryLearn) {
    ASSIGN_OR_RETURN(const RatePlan best, PlanBlc(columns.polled(), crawl_rate));
    return ComputePlanCosts(columns.polled(), plan, CrawlTimes::kPoisson).j_b /
           ComputePlanCosts(columns.polled(), best, CrawlTimes::kPoisson).j_b;
  }
  ASSIGN_OR_RETURN(const RatePlan best, PlanLambdaCrawl(columns.pages(), crawl_rate));
  return ComputePlanCosts(columns.pages(), plan, CrawlTimes::kPoisson).j_h /
         ComputePlanCosts(columns.pages(), best, CrawlTimes::kPoisson).j_h;
}

StatusOr<std::vector<double>> RatiosOverEpochs(const EpochLine& line, int size, int epochs,
                                               const InstanceSeeds& seeds) {
  const RateColumns columns = ColumnsOf(PagesWithSignals(size, seeds.pages));
  const double crawl_rate = kCrawlsPerPage * size;
  if (line.known) {
    ASSIGN_OR_RETURN(const RatePlan plan,
                     line.learner == LearnerKind::kBinaryLearn
                         ? PlanBlcWithFloor(columns.polled(), crawl_rate, kFloor)
                         : PlanLambdaCrawlApprox(columns.pages(), crawl_rate));
    ASSIGN_OR_RETURN(const double ratio, CostRatio(line.learner, columns, plan, crawl_rate));
    return std::vector<double>(static_cast<size_t>(epochs) + 1, ratio);
  }
  // Without observations, an imaginary interval of ln 2 days makes the rate one a day. For complete
  // signals, the imaginary half signal in half a day does the same.
  ASSIGN_OR_RETURN(Learner learner, Learner::Create(columns.importance, columns.complete,
                                                    {.kind = line.learner,
                                                     .crawl_rate = crawl_rate,
                                                     .floor = kFloor,
                                                     .smoothing = std::numbers::ln2}));
  LearningWorld world(columns, seeds.events);
  std::vector<double> ratios;
  for (int epoch = 0;; ++epoch) {
    ASSIGN_OR_RETURN(ratios.emplace_back(),
                     CostRatio(line.learner, columns, learner.plan(), crawl_rate));
    if (epoch == epochs) return ratios;
    RETURN_IF_ERROR(world.Crawl(learner, 1));
    learner.EndEpoch();
  }
}

PaperPlan PlanEpochs(const PaperOptions& options) {
  const int size = options.pages.empty() ? kLearningPages : options.pages.front();
  const int epochs =
      options.horizon > 0 ? std::max(1, static_cast<int>(options.horizon)) : kLearningEpochs;
  PaperPlan plan{.result = {.title = "Learning change rates, from once a day",
                            .x_name = "epoch",
                            .x_label = "epochs of a day",
                            .y_label = "cost, over that of the best plan",
                            .x = {},
                            .series = {}}};
  for (int epoch = 0; epoch <= epochs; ++epoch) plan.result.x.push_back(epoch);
  const std::vector<EpochLine> lines = {{"LLC: J_h over LC's", LearnerKind::kLambdaLearn},
                                        {"LLCA: J_h over LC's", LearnerKind::kLambdaLearnApprox},
                                        {"BLLC: J_b over BLC's", LearnerKind::kBinaryLearn},
                                        {"LCA, rates known", LearnerKind::kLambdaLearnApprox, true},
                                        {"BLC_eps, rates known", LearnerKind::kBinaryLearn, true}};
  for (const EpochLine& line : lines) {
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      const InstanceSeeds seeds = SeedsOf(options.seed, size, repeat);
      plan.parts.push_back({.series = plan.result.series.size(),
                            .repeat = repeat,
                            .cost = line.known ? 1.0 : epochs,
                            .play = [=] { return RatiosOverEpochs(line, size, epochs, seeds); }});
    }
    plan.result.series.push_back({.name = line.name});
  }
  return plan;
}

}  // namespace

std::vector<PaperExperiment> LambdaCrawlExperiments() {
  return {
      CostExperiment({"lambda-fig1", "harmonic and binary cost of rate plans"},
                     {.title = "Costs of plans, 4% of the pages with complete signals",
                      .lines = {{"LC", "lambda_crawl"},
                                {"LCA", "lambda_crawl_approx"},
                                {"BLC", "blc"},
                                {"BLC_eps", "blc_eps"},
                                {"UC", "uniform"},
                                {"CC", "change_rate"}}}),
      CostExperiment(
          {"lambda-harmonic", "the same, simulated at a constant rate, and of the policy harmonic"},
          {.title = "Costs at a constant rate, 4% of the pages with complete signals",
           .pages = kSimulatedPages,
           .simulated = true,
           .lines = {{"LC", "lambda_crawl"},
                     {"LC-IO", "lc_incompl"},
                     {"BLC", "blc"},
                     {"harmonic", "harmonic"},
                     {"harmonic_ncis", "harmonic_ncis"},
                     {"greedy", "greedy"}}}),
      CostExperiment({"lambda-fig2", "costs of plans where all pages have complete signals"},
                     {.title = "Costs of plans, pages with complete signals",
                      .complete_only = true,
                      .lines = {{"LC-CO", "lc_compl"},
                                {"LC-IO", "lc_incompl"},
                                {"BLC", "blc"},
                                {"BLC_eps", "blc_eps"}}}),
      {.summary = {"lambda-fig3", "LLC, LLCA and BLLC while they learn, epoch by epoch"},
       .many_sizes = false,
       .plan = PlanEpochs}};
}

}  // namespace freshet
