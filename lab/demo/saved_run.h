// The file of a run. With it, an interrupted replay continues at the current wall time.
#ifndef FRESHET_LAB_DEMO_SAVED_RUN_H_
#define FRESHET_LAB_DEMO_SAVED_RUN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "lab/demo/timeline.h"

namespace freshet::demo {

// Value type, thread-compatible.
struct SavedRun {
  std::string history;  // absolute path
  Timeline timeline;    // wall_begin_micros 0 = the server has no page yet
  double crawl_rate_per_second = 0;
  double recall = 1;                // share of changes that the sitemap announces, in [0, 1]
  int64_t polled_until_micros = 0;  // wall time up to which signals are acknowledged
  bool finished = false;
  bool operator==(const SavedRun&) const = default;
};

// Write and read the text of the file. InvalidArgument: the text has another format.
[[nodiscard]] std::string FormatSavedRun(const SavedRun& run);
[[nodiscard]] StatusOr<SavedRun> ParseSavedRun(std::string_view text);

// Replaces the file in one step: a reader, or a start after a kill, finds the old or the new text.
// FailedPrecondition, with the reason (no space, no permission): the file cannot be written.
[[nodiscard]] Status WriteSavedRun(const std::string& path, const SavedRun& run);
// Reads the file. NotFound: there is no such file.
[[nodiscard]] StatusOr<SavedRun> ReadSavedRun(const std::string& path);

// Whether a new start continues an earlier run, and why. Value type, thread-compatible.
struct RunDecision {
  bool resume = false;
  std::string reason;  // for people; empty = no earlier run
};

// Decides to resume an earlier run if it has the same history, speed, rate and recall, and has not
// ended at `now_micros`. Otherwise decides to start again.
[[nodiscard]] RunDecision DecideRun(const std::optional<SavedRun>& earlier, const SavedRun& wanted,
                                    int64_t now_micros);

}  // namespace freshet::demo

#endif  // FRESHET_LAB_DEMO_SAVED_RUN_H_
