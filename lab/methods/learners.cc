#include "lab/methods/learners.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/plan/binary.h"
#include "core/plan/lambda_crawl.h"
#include "core/plan/page_pass.h"
#include "lab/methods/closed_form.h"

namespace freshet {
namespace {

constexpr LearnerKind kLearners[] = {
    LearnerKind::kExploreCommit,     LearnerKind::kEpsGreedy,   LearnerKind::kLambdaLearn,
    LearnerKind::kLambdaLearnApprox, LearnerKind::kBinaryLearn,
};

// Whether the learner can make its first plan without estimates.
bool ExploresFirst(LearnerKind kind) {
  return kind == LearnerKind::kExploreCommit || kind == LearnerKind::kEpsGreedy;
}

Status ValidateOptions(const LearnerOptions& options) {
  if (!(options.epsilon >= 0 && options.epsilon <= 1)) {
    return InvalidArgument("epsilon: {} is not between 0 and 1", options.epsilon);
  }
  if (!(options.floor >= 0 && options.floor <= 1)) {
    return InvalidArgument("floor: {} is not between 0 and 1", options.floor);
  }
  if (!(options.smoothing > 0) || !std::isfinite(options.smoothing)) {
    return InvalidArgument("smoothing: {} is not a finite time above 0", options.smoothing);
  }
  if (!(options.bounds.min >= kSmallestPlanNumber && options.bounds.min <= options.bounds.max &&
        options.bounds.max <= kLargestPlanNumber)) {
    return InvalidArgument(
        "bounds: {} to {} is not a valid range: both must be from {} to {}, the smaller one first",
        options.bounds.min, options.bounds.max, kSmallestPlanNumber, kLargestPlanNumber);
  }
  return {};
}

// The learner's inputs are valid, so its plans cannot fail.
RatePlan Made(StatusOr<RatePlan> plan) {
  CHECK(plan.ok(), "{}", std::string(plan.status().message()));
  return *std::move(plan);
}

}  // namespace

std::string_view LearnerName(LearnerKind kind) {
  switch (kind) {
    case LearnerKind::kExploreCommit:
      return "explore_commit";
    case LearnerKind::kEpsGreedy:
      return "eps_greedy";
    case LearnerKind::kLambdaLearn:
      return "lambda_learn";
    case LearnerKind::kLambdaLearnApprox:
      return "lambda_learn_approx";
    case LearnerKind::kBinaryLearn:
      return "binary_learn";
  }
  return "unknown";
}

std::vector<std::string_view> LearnerNames() {
  std::vector<std::string_view> names;
  for (const LearnerKind kind : kLearners) names.push_back(LearnerName(kind));
  return names;
}

StatusOr<LearnerKind> ParseLearner(std::string_view name) {
  for (const LearnerKind kind : kLearners) {
    if (LearnerName(kind) == name) return kind;
  }
  return NotFound("'{}' is not a learner", std::string(name));
}

StatusOr<Learner> Learner::Create(std::vector<double> importance, std::vector<uint8_t> complete,
                                  LearnerOptions options) {
  RETURN_IF_ERROR(ValidateOptions(options));
  const std::vector<double> any_rate(importance.size(), 1.0);
  RETURN_IF_ERROR(
      ValidatePlanInput({importance, any_rate, complete}, options.crawl_rate, options.parallel));
  return Learner(std::move(importance), std::move(complete), std::move(options));
}

Learner::Learner(std::vector<double> importance, std::vector<uint8_t> complete,
                 LearnerOptions options)
    : importance_(std::move(importance)),
      complete_(std::move(complete)),
      options_(std::move(options)),
      observations_(importance_.size(), Observations(1)) {
  if (!ExploresFirst(options_.kind)) Estimate();
  Plan();
}

Status Learner::AddPage(double importance, bool complete) {
  const double any_rate = 1;
  RETURN_IF_ERROR(ValidatePlanInput({{&importance, 1}, {&any_rate, 1}, {}}, options_.crawl_rate));
  if (complete || !complete_.empty()) {
    complete_.resize(importance_.size(), 0);
    complete_.push_back(complete ? 1 : 0);
  }
  importance_.push_back(importance);
  observations_.emplace_back(1);
  plan_.rate.push_back(0);
  if (!plan_.probability.empty()) plan_.probability.push_back(0);
  if (change_rates_.empty()) Plan();
  return {};
}

CrawlTimes Learner::crawl_times() const {
  const bool exploring = options_.kind == LearnerKind::kExploreCommit && change_rates_.empty();
  return exploring ? CrawlTimes::kEqualIntervals : CrawlTimes::kPoisson;
}

Status Learner::ObserveCrawl(size_t page, double elapsed, bool changed) {
  if (page >= observations_.size()) return InvalidArgument("page: {} is not known", page);
  constexpr double kNoSignal[] = {0};
  return observations_[page].Add(elapsed, kNoSignal, changed);
}

Status Learner::ObserveSignals(size_t page, double elapsed, double signals) {
  if (page >= observations_.size()) return InvalidArgument("page: {} is not known", page);
  if (complete_.empty() || complete_[page] == 0) {
    return InvalidArgument(
        "page: the method learns only from pages whose signals are marked as complete, and those "
        "of page {} are not",
        page);
  }
  return observations_[page].Add(elapsed, {&signals, 1}, signals > 0);
}

void Learner::EndEpoch() {
  ++epochs_;
  if (options_.kind == LearnerKind::kExploreCommit && !change_rates_.empty()) return;
  Estimate();
  Plan();
}

double Learner::EstimatePage(size_t page) const {
  const Observations& seen = observations_[page];
  if (ExploresFirst(options_.kind)) {
    // A page without crawls could have any rate. It gets the smallest rate, so that the plan does
    // not crawl it.
    if (seen.empty()) return options_.bounds.min;
    return EstimateMoment(seen, options_.bounds).change_rate;
  }
  const bool signalled =
      options_.kind != LearnerKind::kBinaryLearn && !complete_.empty() && complete_[page] != 0;
  const double rate = signalled ? EstimateComplete(seen).change_rate
                                : EstimateChoGm(seen, options_.smoothing).change_rate;
  return std::clamp(rate, kSmallestPlanNumber, kLargestPlanNumber);
}

void Learner::Estimate() {
  constexpr size_t kNever = std::numeric_limits<size_t>::max();
  change_rates_.resize(importance_.size());
  estimated_from_.resize(importance_.size(), kNever);
  const size_t chunks = (importance_.size() + kPlanChunk - 1) / kPlanChunk;
  options_.parallel(chunks, [&](size_t chunk) {
    const size_t end = std::min(importance_.size(), (chunk + 1) * kPlanChunk);
    for (size_t i = chunk * kPlanChunk; i < end; ++i) {
      if (estimated_from_[i] == observations_[i].size()) continue;
      estimated_from_[i] = observations_[i].size();
      change_rates_[i] = EstimatePage(i);
    }
  });
}

void Learner::Plan() {
  const double rate = options_.crawl_rate;
  if (change_rates_.empty()) {
    const std::vector<double> any_rate(importance_.size(), 1.0);
    plan_ = Made(PlanUniform({importance_, any_rate, {}}, rate, options_.parallel));
    return;
  }
  const PlanPages pages{importance_, change_rates_, complete_};
  switch (options_.kind) {
    case LearnerKind::kExploreCommit:
      plan_ = Made(PlanBlc(pages, rate, options_.parallel));
      return;
    case LearnerKind::kBinaryLearn:
      plan_ = Made(PlanBlcWithFloor(pages, rate, options_.floor, options_.parallel));
      return;
    case LearnerKind::kEpsGreedy: {
      const double greedy = 1 - options_.epsilon;
      plan_ = Made(PlanBlc(pages, rate, options_.parallel));
      const double uniform =
          options_.epsilon * rate / static_cast<double>(std::max<size_t>(1, importance_.size()));
      for (double& page_rate : plan_.rate) page_rate = greedy * page_rate + uniform;
      return;
    }
    case LearnerKind::kLambdaLearn:
      plan_ = Made(PlanLambdaCrawl(pages, rate, options_.parallel));
      return;
    case LearnerKind::kLambdaLearnApprox:
      plan_ = Made(PlanLambdaCrawlApprox(pages, rate, options_.parallel));
      return;
  }
}

}  // namespace freshet
