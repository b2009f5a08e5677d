// Prepares a run before the server starts: chooses the history, the speed and the store.
#ifndef FRESHET_LAB_DEMO_PREPARE_H_
#define FRESHET_LAB_DEMO_PREPARE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/status.h"
#include "lab/demo/saved_run.h"

namespace freshet::demo {

// Value type, thread-compatible.
struct PrepareOptions {
  std::string run_dir;
  std::string history;                          // path
  double seconds = 60;                          // length in wall time
  std::optional<double> crawl_rate_per_second;  // unset = by `rate`
  double rate = 0.5;                            // crawls a day of history for every 1,000 pages
  std::optional<double> years;  // last years of the history to play; unset = 16 ms a day
  double recall = 1;            // share of changes that polls announce
};

// The file of a run in its directory.
[[nodiscard]] std::string SavedRunPath(const std::string& run_dir);
[[nodiscard]] std::string StorePath(const std::string& run_dir);

// Plans the run that the options request, without beginning it. InvalidArgument or NotFound: the
// history cannot be played.
[[nodiscard]] StatusOr<SavedRun> PlanRun(const PrepareOptions& options);

// A prepared run. Value type, thread-compatible.
struct Prepared {
  SavedRun run;
  RunDecision decision;
};

// Prepares the directory: keeps the earlier run and its store if that run continues; otherwise
// writes a new run without a store. Other files are not changed.
[[nodiscard]] StatusOr<Prepared> Prepare(const PrepareOptions& options, int64_t now_micros);

// Returns "name=value" lines with the settings of the server: resume, day, epoch, crawl_rate.
[[nodiscard]] std::string ServerSettings(const Prepared& prepared);

}  // namespace freshet::demo

#endif  // FRESHET_LAB_DEMO_PREPARE_H_
