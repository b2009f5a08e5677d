// The step before the server starts: what is to be played, at what speed, and on which store.
#ifndef FRESHET_TOOLS_DEMO_PREPARE_H_
#define FRESHET_TOOLS_DEMO_PREPARE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/status.h"
#include "tools/demo/saved_run.h"

namespace freshet::demo {

// Value type, thread-compatible.
struct PrepareOptions {
  std::string run_dir;
  std::string history;                          // path
  double seconds = 60;                          // of wall time
  std::optional<double> crawl_rate_per_second;  // unset: `rate`
  double rate = 0.5;                            // crawls a history day for every 1,000 pages
  std::optional<double> years;                  // of the end of the history; unset: 16 ms a day
  double recall = 1;                            // share of the changes that polls announce
};

// Files of a run, in its directory.
[[nodiscard]] std::string SavedRunPath(const std::string& run_dir);
[[nodiscard]] std::string StorePath(const std::string& run_dir);

// The run that the options ask for, not begun. InvalidArgument or NotFound for a history that
// cannot be played.
[[nodiscard]] StatusOr<SavedRun> PlanRun(const PrepareOptions& options);

// What was prepared. Value type, thread-compatible.
struct Prepared {
  SavedRun run;
  RunDecision decision;
};

// Leaves the directory ready: the earlier run with its store if that goes on, else a new run and no
// store. Everything else in the directory is left alone.
[[nodiscard]] StatusOr<Prepared> Prepare(const PrepareOptions& options, int64_t now_micros);

// "name=value" lines with what the server has to be told: resume, day, epoch, crawl_rate.
[[nodiscard]] std::string ServerSettings(const Prepared& prepared);

}  // namespace freshet::demo

#endif  // FRESHET_TOOLS_DEMO_PREPARE_H_
