#include "lab/paper/learn_to_crawl.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "core/plan/binary.h"
#include "core/plan/rate_columns.h"
#include "lab/methods/closed_form.h"
#include "lab/methods/learners.h"
#include "lab/methods/moment.h"
#include "lab/paper/instances.h"
#include "lab/paper/learning.h"
#include "lab/sim/slot_policies.h"
#include "lab/sim/synthetic_worlds.h"

namespace freshet {
namespace {

constexpr int kLearnPages = 100;
constexpr double kLearnHorizon = 1000;        // for figures whose x is not the horizon
constexpr double kLongestLearnHorizon = 1e6;  // for figures whose x is the horizon
constexpr int kExplorations = 10;             // number that is averaged for each instance
constexpr double kUsualEpsilon = 0.1;
constexpr int kUsualPhases = 10;
constexpr double kExplorationTimes[] = {5, 10, 20, 50, 100, 200, 500, 1000, 2000};

// A set of pages, with the accuracies of its best and of its uniform plan.
struct LearnInstance {
  RateColumns pages;
  double best = 0;     // accuracy of the plan that knows the rates
  double uniform = 0;  // accuracy of equal rates
};

double AccuracyOf(const RateColumns& pages, const RatePlan& plan) {
  return ComputePlanCosts(pages.polled(), plan, CrawlTimes::kPoisson).accuracy;
}

StatusOr<LearnInstance> DrawInstance(int size, Random random) {
  ASSIGN_OR_RETURN(const SyntheticWorld world, ParseSyntheticWorld("ncis-fig2"));
  LearnInstance instance{.pages = ColumnsOf(DrawPages(world, size, random))};
  ASSIGN_OR_RETURN(const RatePlan best, PlanBlc(instance.pages.polled(), kPaperCrawlRate));
  ASSIGN_OR_RETURN(const RatePlan uniform, PlanUniform(instance.pages.polled(), kPaperCrawlRate));
  instance.best = AccuracyOf(instance.pages, best);
  instance.uniform = AccuracyOf(instance.pages, uniform);
  return instance;
}

StatusOr<Learner> MakeLearner(const LearnInstance& instance, LearnerKind kind, double epsilon) {
  return Learner::Create(instance.pages.importance, {},
                         {.kind = kind, .crawl_rate = kPaperCrawlRate, .epsilon = epsilon});
}

// Explores for `time`, then commits to a plan. Returns by how much the accuracy of this plan is
// below the best accuracy.
StatusOr<double> CommittedLoss(const LearnInstance& instance, double time, Random events) {
  ASSIGN_OR_RETURN(Learner learner, MakeLearner(instance, LearnerKind::kExploreCommit, 0));
  LearningWorld world(instance.pages, events);
  RETURN_IF_ERROR(world.Crawl(learner, time));
  learner.EndEpoch();
  return instance.best - AccuracyOf(instance.pages, learner.plan());
}

// Returns the regret of explore and commit per unit of time.
double CommitRegret(const LearnInstance& instance, double loss, double exploration,
                    double horizon) {
  const double explored = exploration / horizon;
  return explored * (instance.best - instance.uniform) + (1 - explored) * loss;
}

// The loss of accuracy by exploration time. The times grow by a factor of sqrt(2).
struct ExplorationCurve {
  std::vector<double> time;
  std::vector<double> loss;  // of the committed plan, mean of kExplorations
};

StatusOr<ExplorationCurve> ExploreInstance(const LearnInstance& instance, double horizon,
                                           Random events) {
  ExplorationCurve curve;
  // Longer times are far from optimal.
  const double longest = std::min(horizon / 2, 6 * std::sqrt(horizon));
  for (double time = 2; time <= longest; time *= std::sqrt(2)) {
    double sum = 0;
    for (int i = 0; i < kExplorations; ++i) {
      ASSIGN_OR_RETURN(const double loss, CommittedLoss(instance, time, events.Split()));
      sum += loss;
    }
    curve.time.push_back(time);
    curve.loss.push_back(sum / kExplorations);
  }
  return curve;
}

// The best exploration time for a horizon, with the resulting regret per unit of time.
struct BestExploration {
  double time = 0;
  double regret = 0;
};

BestExploration BestOf(const LearnInstance& instance, const ExplorationCurve& curve,
                       double horizon) {
  BestExploration best{.regret = instance.best};
  for (size_t i = 0; i < curve.time.size(); ++i) {
    if (curve.time[i] > horizon) break;
    const double regret = CommitRegret(instance, curve.loss[i], curve.time[i], horizon);
    if (regret < best.regret) best = {.time = curve.time[i], .regret = regret};
  }
  return best;
}

// Returns the regret per unit of time of epsilon-greedy in equal phases.
StatusOr<double> EpsilonRegret(const LearnInstance& instance, double epsilon, int phases,
                               double horizon, Random events) {
  ASSIGN_OR_RETURN(Learner learner, MakeLearner(instance, LearnerKind::kEpsGreedy, epsilon));
  LearningWorld world(instance.pages, events);
  double lost = 0;
  for (int phase = 0; phase < phases; ++phase) {
    lost += instance.best - AccuracyOf(instance.pages, learner.plan());
    if (phase + 1 == phases) break;
    RETURN_IF_ERROR(world.Crawl(learner, horizon / phases));
    learner.EndEpoch();
  }
  return lost / phases;
}

// A line of a figure, whose points are all played at once.
struct LearnLine {
  std::string name;
  std::function<StatusOr<std::vector<double>>(const LearnInstance&, Random)> play;
};

PaperPlan PlanLearning(PaperResult result, const std::vector<LearnLine>& lines,
                       const PaperOptions& options) {
  PaperPlan plan{.result = std::move(result)};
  const int size = options.pages.empty() ? kLearnPages : options.pages.front();
  for (const LearnLine& line : lines) {
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      const InstanceSeeds seeds = SeedsOf(options.seed, size, repeat);
      plan.parts.push_back({.series = plan.result.series.size(),
                            .repeat = repeat,
                            .play = [=, play = line.play]() -> StatusOr<std::vector<double>> {
                              ASSIGN_OR_RETURN(const LearnInstance instance,
                                               DrawInstance(size, seeds.pages));
                              return play(instance, seeds.events);
                            }});
    }
    plan.result.series.push_back({.name = line.name});
  }
  return plan;
}

// Figure 1a compares estimators. Their observations come from crawls at random times, because with
// equal intervals the moment estimate and the maximum-likelihood estimate are the same.
enum class RateEstimator : uint8_t { kNaive, kMoment, kMle };

double EstimateBy(RateEstimator estimator, const Observations& seen) {
  constexpr RateBounds kBounds{1e-9, 25};
  const double rate = estimator == RateEstimator::kNaive    ? EstimateLowerBound(seen).change_rate
                      : estimator == RateEstimator::kMoment ? EstimateMoment(seen).change_rate
                                                            : EstimateChoGm(seen, 0).change_rate;
  return std::isnan(rate) ? kBounds.min : std::clamp(rate, kBounds.min, kBounds.max);
}

StatusOr<double> EstimatorLoss(const LearnInstance& instance, RateEstimator estimator, double time,
                               Random events) {
  const double rate = kPaperCrawlRate / static_cast<double>(instance.pages.importance.size());
  std::vector<double> estimates;
  for (const double change_rate : instance.pages.change_rate) {
    Observations seen(1);
    constexpr double kNoSignal[] = {0};
    double crawled = 0;
    for (double at = events.Exponential(rate); at <= time; at += events.Exponential(rate)) {
      if (at == crawled) continue;
      const bool changed = events.Uniform() < -std::expm1(-change_rate * (at - crawled));
      RETURN_IF_ERROR(seen.Add(at - crawled, kNoSignal, changed));
      crawled = at;
    }
    estimates.push_back(EstimateBy(estimator, seen));
  }
  ASSIGN_OR_RETURN(const RatePlan plan,
                   PlanBlc({instance.pages.importance, estimates, {}}, kPaperCrawlRate));
  return instance.best - AccuracyOf(instance.pages, plan);
}

PaperPlan PlanEstimators(const PaperOptions& options) {
  PaperResult result{.title = "Plans on estimates, after an exploration",
                     .x_name = "exploration",
                     .x_label = "time explored",
                     .y_label = "accuracy lost by the plan",
                     .log_x = true,
                     .log_y = true};
  for (const double time : kExplorationTimes) {
    if (options.horizon == 0 || time <= options.horizon) result.x.push_back(time);
  }
  std::vector<LearnLine> lines;
  const auto add = [&](const char* name, RateEstimator estimator) {
    lines.push_back({name,
                     [estimator, times = result.x](const LearnInstance& instance,
                                                   Random events) -> StatusOr<std::vector<double>> {
                       std::vector<double> losses;
                       for (const double time : times) {
                         // Every estimator gets the same events.
                         ASSIGN_OR_RETURN(losses.emplace_back(),
                                          EstimatorLoss(instance, estimator, time, events.Split()));
                       }
                       return losses;
                     }});
  };
  add("naive", RateEstimator::kNaive);
  add("moment", RateEstimator::kMoment);
  add("MLE", RateEstimator::kMle);
  result.reference = 1;
  return PlanLearning(std::move(result), lines, options);
}

// Returns the horizons of the points in figures 1b and 1c.
std::vector<double> HorizonsUpTo(double longest) {
  std::vector<double> horizons;
  for (const double decade : {1e2, 1e3, 1e4, 1e5, 1e6}) {
    for (const double horizon : {decade, std::sqrt(10) * decade}) {
      if (horizon <= longest) horizons.push_back(horizon);
    }
  }
  return horizons;
}

// Fits a line of slope `power` to the logarithms of `values` and `x`.
std::vector<double> FittedPower(const std::vector<double>& x, const std::vector<double>& values,
                                double power) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += std::log(values[i]) - power * std::log(x[i]);
  const double factor = std::exp(sum / static_cast<double>(x.size()));
  std::vector<double> line;
  for (const double each : x) line.push_back(factor * std::pow(each, power));
  return line;
}

StatusOr<PaperPlan> PlanExploration(bool regret, const PaperOptions& options) {
  const double longest = options.horizon > 0 ? options.horizon : kLongestLearnHorizon;
  PaperResult result{
      .title = regret ? "Regret of explore and commit" : "The best time to explore",
      .x_name = "horizon",
      .x_label = "horizon T",
      .y_label = regret ? "accuracy lost, on average over T" : "best time to explore",
      .log_x = true,
      .log_y = true};
  result.x = HorizonsUpTo(longest);
  if (result.x.empty()) return InvalidArgument("--horizon {}: must be at least 100", longest);
  const auto play = [regret, horizons = result.x](const LearnInstance& instance,
                                                  Random events) -> StatusOr<std::vector<double>> {
    ASSIGN_OR_RETURN(const ExplorationCurve curve,
                     ExploreInstance(instance, horizons.back(), events));
    std::vector<double> values;
    for (const double horizon : horizons) {
      const BestExploration best = BestOf(instance, curve, horizon);
      values.push_back(regret ? best.regret : best.time);
    }
    return values;
  };
  const double power = regret ? -0.5 : 0.5;
  const auto fitted = [play, power, horizons = result.x](
                          const LearnInstance& instance,
                          Random events) -> StatusOr<std::vector<double>> {
    ASSIGN_OR_RETURN(const std::vector<double> values, play(instance, events));
    return FittedPower(horizons, values, power);
  };
  const char* name = regret ? "proportional to 1/√T" : "proportional to √T";
  return PlanLearning(std::move(result), {{"explore and commit", play}, {name, fitted}}, options);
}

// Figure 2 compares epsilon-greedy in phases with explore and commit, over one parameter.
enum class Parameter : uint8_t { kEpsilon, kPhases, kHorizon };

struct PhasedCase {
  double epsilon = kUsualEpsilon;
  int phases = kUsualPhases;
  double horizon = kLearnHorizon;
};

PhasedCase CaseAt(Parameter parameter, double x, double horizon) {
  switch (parameter) {
    case Parameter::kEpsilon:
      return {.epsilon = x, .horizon = horizon};
    case Parameter::kPhases:
      return {.phases = static_cast<int>(x), .horizon = horizon};
    case Parameter::kHorizon:
      return {.horizon = x};
  }
  return {};
}

// Explore and commit with the best exploration time, or with the time that the theory gives.
enum class Exploring : uint8_t { kBest, kSquareRoot };

StatusOr<std::vector<double>> CommitOver(const std::vector<double>& horizons, Exploring exploring,
                                         const LearnInstance& instance, Random events) {
  ASSIGN_OR_RETURN(
      const ExplorationCurve curve,
      ExploreInstance(instance, *std::max_element(horizons.begin(), horizons.end()), events));
  std::vector<double> values;
  for (const double horizon : horizons) {
    if (exploring == Exploring::kBest) {
      values.push_back(BestOf(instance, curve, horizon).regret);
      continue;
    }
    const double time = std::sqrt(horizon);
    Random own = events;  // the same for the same horizon
    double sum = 0;
    for (int i = 0; i < kExplorations; ++i) {
      ASSIGN_OR_RETURN(const double loss, CommittedLoss(instance, time, own.Split()));
      sum += CommitRegret(instance, loss, time, horizon);
    }
    values.push_back(sum / kExplorations);
  }
  return values;
}

PaperPlan PlanPhased(PaperResult result, Parameter parameter, const PaperOptions& options) {
  result.y_label = "accuracy lost, on average over T";
  result.log_x = true;
  result.log_y = true;
  result.reference = 1;
  const double horizon = options.horizon > 0 ? options.horizon : kLearnHorizon;
  std::vector<double> horizons;
  for (const double x : result.x) horizons.push_back(CaseAt(parameter, x, horizon).horizon);
  const auto phased = [parameter, horizon, all = result.x](
                          const LearnInstance& instance,
                          Random events) -> StatusOr<std::vector<double>> {
    std::vector<double> values;
    for (const double x : all) {
      const PhasedCase played = CaseAt(parameter, x, horizon);
      ASSIGN_OR_RETURN(values.emplace_back(), EpsilonRegret(instance, played.epsilon, played.phases,
                                                            played.horizon, events.Split()));
    }
    return values;
  };
  const auto commit = [horizons](Exploring exploring) {
    return [=](const LearnInstance& instance, Random events) {
      return CommitOver(horizons, exploring, instance, events);
    };
  };
  return PlanLearning(std::move(result),
                      {{"phased ε-greedy", phased},
                       {"explore and commit, best", commit(Exploring::kBest)},
                       {"explore and commit, √T", commit(Exploring::kSquareRoot)}},
                      options);
}

std::vector<double> UpTo(std::vector<double> values, double longest) {
  if (longest > 0) std::erase_if(values, [longest](double value) { return value > longest; });
  return values;
}

PaperExperiment LearnExperiment(PaperSummary summary,
                                std::function<StatusOr<PaperPlan>(const PaperOptions&)> plan) {
  return {.summary = std::move(summary), .many_sizes = false, .plan = std::move(plan)};
}

}  // namespace

std::vector<PaperExperiment> LearnToCrawlExperiments() {
  return {
      LearnExperiment({"learn-fig1a", "what plans on estimates lose, after an exploration"},
                      PlanEstimators),
      LearnExperiment(
          {"learn-fig1b", "explore and commit: the best time to explore, over the horizon"},
          [](const PaperOptions& options) { return PlanExploration(false, options); }),
      LearnExperiment({"learn-fig1c", "explore and commit: its regret, over the horizon"},
                      [](const PaperOptions& options) { return PlanExploration(true, options); }),
      LearnExperiment({"learn-fig2a", "phased epsilon-greedy over epsilon"},
                      [](const PaperOptions& options) {
                        return PlanPhased({.title = "Phased ε-greedy over ε",
                                           .x_name = "epsilon",
                                           .x_label = "ε, share of uniform crawls",
                                           .x = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5}},
                                          Parameter::kEpsilon, options);
                      }),
      LearnExperiment({"learn-fig2b", "phased epsilon-greedy over the number of phases"},
                      [](const PaperOptions& options) {
                        return PlanPhased({.title = "Phased ε-greedy over the phases",
                                           .x_name = "phases",
                                           .x_label = "phases",
                                           .x = {2, 5, 10, 20, 50, 100}},
                                          Parameter::kPhases, options);
                      }),
      LearnExperiment({"learn-fig2c", "phased epsilon-greedy over the horizon"},
                      [](const PaperOptions& options) {
                        return PlanPhased(
                            {.title = "Phased ε-greedy over the horizon",
                             .x_name = "horizon",
                             .x_label = "horizon T",
                             .x = UpTo({100, 300, 1000, 3000, 10000}, options.horizon)},
                            Parameter::kHorizon, options);
                      })};
}

}  // namespace freshet
