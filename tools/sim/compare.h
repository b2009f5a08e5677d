// Many replays side by side: every source at every rate and recall under every policy, over all
// cores, and what of it can be told in one table.
#ifndef FRESHET_TOOLS_SIM_COMPARE_H_
#define FRESHET_TOOLS_SIM_COMPARE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "tools/sim/mean_and_error.h"
#include "tools/sim/replay_policies.h"

namespace freshet {

// What is to be compared. Value type, thread-compatible.
struct CompareOptions {
  std::vector<std::pair<std::string, std::string>> histories;  // name, file
  std::vector<std::string> worlds;
  std::vector<std::string> policies;
  std::string subject = "default";  // one of the policies: what the others are measured against
  std::vector<double> rates;        // of histories, crawls a day per 1,000 pages
  std::vector<double> recalls;      // of histories
  uint64_t seeds = 1;               // 1 .. seeds; of a history the signals dropped depend on it
  double epoch_days = 10;
  double warm_up_crawls_per_page = 20;
  unsigned jobs = 0;               // threads; 0: as many as there are cores
  std::string out;                 // file of results, read first and added to; empty: none
  std::vector<std::string> again;  // policies whose results in `out` do not count
};

// One policy in one row. Value type, thread-compatible.
struct ComparedPolicy {
  std::string policy;
  MeanAndError weighted_staleness;
  MeanAndError staleness;
  // After the warm-up; NaN where there is none: in histories, and where the span ends before.
  MeanAndError settled_weighted_staleness;
  double crawls = 0;
  double seconds = 0;
};

// One line of the table: a source at one rate and recall. Value type, thread-compatible.
struct ComparedRow {
  std::string source;
  bool is_world = false;
  double recall = 1;
  double crawls_per_day_per_1000 = 0;
  double crawls_per_day = 0;
  std::vector<ComparedPolicy> policies;  // in the order of the options, but those not played here

  // nullptr: not played here.
  [[nodiscard]] const ComparedPolicy* Find(const std::string& policy) const;
  // Of the simple rules (IsSimpleRule) the one of lowest weighted staleness, of equal ones the
  // first, that is not `subject`; nullptr: none was played.
  [[nodiscard]] const ComparedPolicy* BestRule(const std::string& subject) const;
  // Weighted staleness of the subject over that of the best rule, and over hindsight's: of worlds
  // settled, of histories as a whole. NaN where one of them is missing.
  [[nodiscard]] double AgainstBest(const std::string& subject) const;
  [[nodiscard]] double AgainstHindsight(const std::string& subject) const;
};

// The name among the policies of what none can undercut (FreshnessBound); it cannot be replayed.
inline constexpr const char* kBound = "bound";

// uniform, importance, pings_first, nutch_adaptive, greedy, greedy_cis: what can be had without
// this project.
[[nodiscard]] bool IsSimpleRule(const std::string& policy);

// Plays everything. Rows in the order of the options: histories (by recall, then rate), then
// worlds; the result does not depend on the threads. `progress` gets a line for each replay, one at
// a time. InvalidArgument for options out of range and names that are none; errors of files.
[[nodiscard]] StatusOr<std::vector<ComparedRow>> Compare(
    const CompareOptions& options, const std::function<void(const std::string& line)>& progress);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_COMPARE_H_
