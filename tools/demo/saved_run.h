// What a replay leaves on disk, so that one that was cut short goes on where the wall clock is.
#ifndef FRESHET_TOOLS_DEMO_SAVED_RUN_H_
#define FRESHET_TOOLS_DEMO_SAVED_RUN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "tools/demo/timeline.h"

namespace freshet::demo {

// Value type, thread-compatible.
struct SavedRun {
  std::string history;  // absolute path
  Timeline timeline;    // wall_begin_micros 0: no page has been given to the server yet
  double crawl_rate_per_second = 0;
  double recall = 1;                // share of the changes that the sitemap announces, in [0, 1]
  int64_t polled_until_micros = 0;  // wall time up to which the signals are acknowledged
  bool finished = false;
  bool operator==(const SavedRun&) const = default;
};

// The text of the file, and back. InvalidArgument for text of another format.
[[nodiscard]] std::string FormatSavedRun(const SavedRun& run);
[[nodiscard]] StatusOr<SavedRun> ParseSavedRun(std::string_view text);

// Replaces the file in one step: a reader, or a start after a kill, finds the old or the new text.
// FailedPrecondition with the reason (no space, no permission) if it cannot be written.
[[nodiscard]] Status WriteSavedRun(const std::string& path, const SavedRun& run);
// NotFound if there is no such file.
[[nodiscard]] StatusOr<SavedRun> ReadSavedRun(const std::string& path);

// What a new start does with what an earlier one left. Value type, thread-compatible.
struct RunDecision {
  bool resume = false;
  std::string reason;  // for a person to read; empty when there was no earlier run
};

// Resumes an earlier run that plays the same history at the same speed, rate and recall and is not
// over at `now_micros`; starts over otherwise.
[[nodiscard]] RunDecision DecideRun(const std::optional<SavedRun>& earlier, const SavedRun& wanted,
                                    int64_t now_micros);

}  // namespace freshet::demo

#endif  // FRESHET_TOOLS_DEMO_SAVED_RUN_H_
