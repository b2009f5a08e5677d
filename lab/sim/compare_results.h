// The results of single replays, and a file that stores them, so that none is computed twice.
#ifndef FRESHET_LAB_SIM_COMPARE_RESULTS_H_
#define FRESHET_LAB_SIM_COMPARE_RESULTS_H_

#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/status.h"
#include "lab/sim/worlds.h"

namespace freshet {

// Everything that a result depends on, except the code of policies. Value type, thread-compatible.
struct ReplayKey {
  std::string source;
  uint64_t content = 0;  // ContentOf the pages
  std::string policy;
  double crawls_per_day = 0;
  double recall = 1;
  uint64_t seed = 1;
  double epoch_days = 10;
  double warm_up = 0;  // crawls a page; 0 = no settled figures
  auto operator<=>(const ReplayKey&) const = default;
};

// Value type, thread-compatible.
struct ReplayScore {
  double weighted_staleness = 0;
  double staleness = 0;
  double settled_weighted_staleness = 0;  // may be NaN
  uint64_t crawls = 0;
  double seconds = 0;
};

// Returns a hash of everything that a replay of the world reads.
[[nodiscard]] uint64_t ContentOf(const World& world);

// A text file of tab-separated rows under a header line, in the order in which they were added. If
// several rows have the same key, the last one counts. Owner thread only.
class ResultFile {
 public:
  // Reads the file, and drops an incomplete last line; creates the file if there is none. Rows of
  // the policies in `again` are ignored. With an empty path, the rows are only in memory.
  // InvalidArgument: a row is invalid; the message names its line.
  [[nodiscard]] static StatusOr<ResultFile> Open(const std::string& path,
                                                 const std::vector<std::string>& again);

  [[nodiscard]] std::optional<ReplayScore> Find(const ReplayKey& key) const;
  [[nodiscard]] Status Add(const ReplayKey& key, const ReplayScore& score);

 private:
  std::string path_;
  std::ofstream out_;
  std::map<ReplayKey, ReplayScore> scores_;
};

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_COMPARE_RESULTS_H_
