// Makes the policies of a replay, by name.
#ifndef FRESHET_LAB_SIM_REPLAY_POLICIES_H_
#define FRESHET_LAB_SIM_REPLAY_POLICIES_H_

#include <memory>
#include <optional>
#include <string>

#include "core/base/status.h"
#include "lab/sim/replay.h"
#include "lab/sim/worlds.h"

namespace freshet {

// The policy to play and its options. Value type, thread-compatible.
struct ReplayPolicyChoice {
  std::string policy = "default";  // the default of freshetd
  std::string estimator;           // default, mle or cho_gm; empty = the policy's own
  double crawls_per_day = 0;       // the rate for which rate policies plan
  double signal_recall = 1;        // of a history: the recall that hindsight assumes
  Duration epoch = Duration::Days(10);
  bool named_polls = true;  // see ShardReplay
  // For learners (lab/methods/learners.h). `explore`: the first epoch of explore_commit. `epsilon`:
  // the share of uniform crawls of eps_greedy, or the floor of binary_learn; unset = the default of
  // LearnerOptions.
  Duration explore = Duration::Days(100);
  std::optional<double> epsilon;
};

// Makes a rule (MakeReplayRule), or a shard under an index or rate policy. The papers' policies use
// the papers' own estimators: one rate if they ignore signals, else the two-parameter likelihood. A
// learner's name makes a LearnerReplay, "hindsight" a HindsightReplay, "clairvoyant" a
// ClairvoyantReplay. InvalidArgument: the name is unknown. `world` outlives the policy.
[[nodiscard]] StatusOr<std::unique_ptr<ReplayPolicy>> MakeReplayPolicy(
    const ReplayPolicyChoice& choice, const World& world);

// Returns OK if --epoch-days and --warm-up-crawls-per-page are valid. InvalidArgument: one is not;
// the message names the flag.
[[nodiscard]] Status ValidatePace(double epoch_days, double warm_up_crawls_per_page);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_REPLAY_POLICIES_H_
