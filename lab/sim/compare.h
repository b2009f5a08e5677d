// Plays many replays on all cores, for one table: every source at every rate and recall, under
// every policy.
#ifndef FRESHET_LAB_SIM_COMPARE_H_
#define FRESHET_LAB_SIM_COMPARE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "lab/sim/mean_and_error.h"
#include "lab/sim/replay_policies.h"

namespace freshet {

// The options of a comparison. Value type, thread-compatible.
struct CompareOptions {
  std::vector<std::pair<std::string, std::string>> histories;  // name, file
  std::vector<std::string> worlds;
  std::vector<std::string> policies;
  std::string subject = "default";  // the policy that is compared with the others
  std::vector<double> rates;        // for histories, crawls a day per 1,000 pages
  std::vector<double> recalls;      // for histories
  // The seeds are 1 .. `seeds`. In a history, a seed determines which signals are dropped.
  uint64_t seeds = 1;
  double epoch_days = 10;
  double warm_up_crawls_per_page = 20;
  unsigned jobs = 0;               // threads; 0 = one per core
  std::string out;                 // file of results, read first and appended to; empty = none
  std::vector<std::string> again;  // policies whose results in `out` are ignored
};

// One policy in one row. Value type, thread-compatible.
struct ComparedPolicy {
  std::string policy;
  MeanAndError weighted_staleness;
  MeanAndError staleness;
  // Staleness after the warm-up; NaN for histories, or if the replay ends before the warm-up.
  MeanAndError settled_weighted_staleness;
  double crawls = 0;
  double seconds = 0;
};

// One line of the table: a source at one rate and one recall. Value type, thread-compatible.
struct ComparedRow {
  std::string source;
  bool is_world = false;
  double recall = 1;
  double crawls_per_day_per_1000 = 0;
  double crawls_per_day = 0;
  // In the order of the options, without policies that were not played here.
  std::vector<ComparedPolicy> policies;

  // Returns the policy; nullptr = it was not played here.
  [[nodiscard]] const ComparedPolicy* Find(const std::string& policy) const;
  // Returns the simple rule (IsSimpleRule) with the lowest weighted staleness, except `subject`;
  // nullptr = none was played. If several rules have the same staleness, returns the first.
  [[nodiscard]] const ComparedPolicy* BestRule(const std::string& subject) const;
  // Return the subject's weighted staleness divided by that of the best rule, or of hindsight.
  // Staleness is the settled one for worlds, and that of the whole replay for histories. NaN if a
  // number is missing.
  [[nodiscard]] double AgainstBest(const std::string& subject) const;
  [[nodiscard]] double AgainstHindsight(const std::string& subject) const;
};

// The name of the bound (FreshnessBound) among the policies. No policy can beat it, and it cannot
// be replayed.
inline constexpr const char* kBound = "bound";

// Whether the policy exists outside this project: uniform, importance, pings_first, nutch_adaptive,
// greedy, greedy_cis.
[[nodiscard]] bool IsSimpleRule(const std::string& policy);

// Plays all replays. Rows are in the order of the options: histories (by recall, then rate), then
// worlds. The number of threads does not change the result. Calls `progress` with a line for each
// replay, on one thread at a time. InvalidArgument: an option is out of range, or a name is
// unknown. Errors of files are returned, too.
[[nodiscard]] StatusOr<std::vector<ComparedRow>> Compare(
    const CompareOptions& options, const std::function<void(const std::string& line)>& progress);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_COMPARE_H_
