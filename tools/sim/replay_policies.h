// The policies that a replay can play, by name.
#ifndef FRESHET_TOOLS_SIM_REPLAY_POLICIES_H_
#define FRESHET_TOOLS_SIM_REPLAY_POLICIES_H_

#include <memory>
#include <optional>
#include <string>

#include "core/base/status.h"
#include "tools/sim/replay.h"
#include "tools/sim/worlds.h"

namespace freshet {

// What is to be played, and how. Value type, thread-compatible.
struct ReplayPolicyChoice {
  std::string policy = "default";  // what freshetd does when nothing is configured
  std::string estimator;           // default, mle or cho_gm; empty: that of the policy
  double crawls_per_day = 0;       // what rate policies plan for
  double signal_recall = 1;        // of a history: what hindsight knows of its signals
  Duration epoch = Duration::Days(10);
  bool named_polls = true;  // as ShardReplay's
  // Of learners (core/plan/learners.h): the first epoch of explore_commit, and for eps_greedy and
  // binary_learn the share of uniform crawls or the floor, unset: those of LearnerOptions.
  Duration explore = Duration::Days(100);
  std::optional<double> epsilon;
};

// A rule (MakeReplayRule), or else a shard under an index or rate policy. The papers' policies run
// on the papers' own estimators: one rate where signals are ignored, the two-parameter likelihood
// where they count. A learner's name is LearnerReplay. "hindsight" is HindsightReplay,
// "clairvoyant" ClairvoyantReplay. InvalidArgument for a name that is none. `world` outlives it.
[[nodiscard]] StatusOr<std::unique_ptr<ReplayPolicy>> MakeReplayPolicy(
    const ReplayPolicyChoice& choice, const World& world);

// OK for what --epoch-days and --warm-up-crawls-per-page may be, else InvalidArgument that names
// the flag.
[[nodiscard]] Status ValidatePace(double epoch_days, double warm_up_crawls_per_page);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_REPLAY_POLICIES_H_
