#include "lab/sim/replay_policies.h"

#include <utility>

#include "core/base/wrong_value.h"
#include "core/model/policy.h"
#include "lab/common/replay_rules.h"
#include "lab/common/wrong_flag.h"
#include "lab/methods/learners.h"
#include "lab/sim/replay_clairvoyant.h"
#include "lab/sim/replay_hindsight.h"
#include "lab/sim/replay_learner.h"
#include "lab/sim/replay_shard.h"

namespace freshet {
namespace {

StatusOr<EstimatorKind> ParseEstimator(const std::string& name) {
  if (name == "default") return EstimatorKind::kDefault;
  if (name == "mle") return EstimatorKind::kMle;
  if (name == "cho_gm") return EstimatorKind::kChoGm;
  return InvalidArgument("--estimator: {}", WrongChoice(name, {"default", "mle", "cho_gm"}));
}

EstimatorKind UsualEstimator(PolicyKind kind) {
  switch (kind) {
    case PolicyKind::kGreedy:
    case PolicyKind::kHarmonic:
    case PolicyKind::kNewContent:
      return EstimatorKind::kChoGm;
    default:
      return EstimatorKind::kMle;
  }
}

// Makes the error for an unknown name, which lists all names of a replay. If the name is known but
// the number of terms is wrong, returns `status`.
Status UnknownPolicyOr(const Status& status, const std::string& name) {
  if (name.starts_with("ncis_approx_")) return status;
  std::vector<std::string> names = {"default"};
  for (const std::string_view rule : ReplayRuleNames()) names.emplace_back(rule);
  for (const std::string_view known : CrawlPolicyNames()) names.emplace_back(known);
  for (const std::string_view learner : LearnerNames()) names.emplace_back(learner);
  for (const char* later : {"hindsight", "clairvoyant"}) names.emplace_back(later);
  return InvalidArgument("--policy: {}", WrongName(name, "a policy", names));
}

StatusOr<ShardOptions> OptionsOf(const ReplayPolicyChoice& choice) {
  ShardOptions options;
  if (choice.policy == "default") {
    ASSIGN_OR_RETURN(options.policy, ResolvePolicy(choice.policy));
    options.estimator.kind = EstimatorKind::kDefault;
  } else {
    const StatusOr<CrawlPolicy> policy = ParseCrawlPolicy(choice.policy);
    if (!policy.ok()) return UnknownPolicyOr(policy.status(), choice.policy);
    options.policy = *policy;
    options.estimator.kind =
        options.policy.plan ? EstimatorKind::kDefault : UsualEstimator(options.policy.index.kind);
  }
  if (!choice.estimator.empty()) {
    ASSIGN_OR_RETURN(options.estimator.kind, ParseEstimator(choice.estimator));
  }
  return options;
}

StatusOr<std::unique_ptr<ReplayPolicy>> MakeLearner(LearnerKind kind,
                                                    const ReplayPolicyChoice& choice,
                                                    const World& world) {
  LearnerOptions options;
  options.kind = kind;
  options.crawl_rate = choice.crawls_per_day;
  if (choice.epsilon)
    (kind == LearnerKind::kEpsGreedy ? options.epsilon : options.floor) = *choice.epsilon;
  const bool explores = kind == LearnerKind::kExploreCommit;
  ASSIGN_OR_RETURN(Learner learner, Learner::Create({}, {}, options));
  std::unique_ptr<ReplayPolicy> policy = std::make_unique<LearnerReplay>(
      world, std::move(learner), LearnsFromSignals(kind), choice.signal_recall,
      explores ? choice.explore : choice.epoch, choice.epoch);
  return policy;
}

}  // namespace

StatusOr<std::unique_ptr<ReplayPolicy>> MakeReplayPolicy(const ReplayPolicyChoice& choice,
                                                         const World& world) {
  std::unique_ptr<ReplayPolicy> policy;
  if (choice.policy == "hindsight") {
    policy = std::make_unique<HindsightReplay>(world, choice.signal_recall);
    return policy;
  }
  if (choice.policy == "clairvoyant") {
    policy = std::make_unique<ClairvoyantReplay>(world, choice.crawls_per_day);
    return policy;
  }
  policy = MakeReplayRule(choice.policy, world.pages);
  if (policy != nullptr) return policy;
  if (const StatusOr<LearnerKind> learner = ParseLearner(choice.policy); learner.ok()) {
    ASSIGN_OR_RETURN(policy, MakeLearner(*learner, choice, world));
    return policy;
  }
  ASSIGN_OR_RETURN(const ShardOptions options, OptionsOf(choice));
  policy = std::make_unique<ShardReplay>(world.pages, options, choice.epoch,
                                         Rate::PerDay(choice.crawls_per_day), choice.named_polls);
  return policy;
}

Status ValidatePace(double epoch_days, double warm_up_crawls_per_page) {
  if (!(epoch_days > 0 && epoch_days <= 36500)) {
    return WrongFlag("--epoch-days", epoch_days, "a number above 0 and up to 36500");
  }
  if (!(warm_up_crawls_per_page >= 0 && warm_up_crawls_per_page <= 1e9)) {
    return WrongFlag("--warm-up-crawls-per-page", warm_up_crawls_per_page,
                     "a number from 0 to 1e9");
  }
  return {};
}

}  // namespace freshet
