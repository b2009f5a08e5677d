// Maps a real history linearly onto the wall clock, so that each day of history takes the same
// time.
#ifndef FRESHET_LAB_DEMO_TIMELINE_H_
#define FRESHET_LAB_DEMO_TIMELINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "lab/common/history.h"

namespace freshet::demo {

// Seconds of a history day.
inline constexpr int64_t kDaySeconds = 86400;
inline constexpr double kMicrosPerSecond = 1e6;

// History times are Unix seconds, wall times Unix microseconds. Value type, thread-compatible.
struct Timeline {
  int64_t history_begin_seconds = 0;
  int64_t history_end_seconds = 0;
  int64_t wall_begin_micros = 0;  // when history_begin happens; 0 = not fixed yet
  double wall_micros_per_day = 1;
  bool operator==(const Timeline&) const = default;

  // Returns wall_begin + (history - history_begin) wall_micros_per_day / 86400, rounded down. Works
  // for times outside the history too.
  [[nodiscard]] int64_t ToWallMicros(int64_t history_seconds) const;
  // The inverse, rounded down to whole seconds of history.
  [[nodiscard]] int64_t ToHistorySeconds(int64_t wall_micros) const;
  [[nodiscard]] int64_t wall_end_micros() const { return ToWallMicros(history_end_seconds); }
  // Returns the length of the history in days.
  [[nodiscard]] double days() const;
};

// Makes a timeline, not yet fixed on the wall clock, that plays the last `days` of a history, up to
// its last event, in `seconds` of wall time. If the history is shorter, all of it is played, and
// days take longer. InvalidArgument: `seconds` is not from 1 to 86,400, `days` is not above 0, a
// day would take less than 1 ms, or the history has no length.
[[nodiscard]] StatusOr<Timeline> MakeTimeline(const std::vector<HistoryPage>& history,
                                              double seconds, double days);

// Formats a date as "2019-03-14", UTC.
[[nodiscard]] std::string FormatDate(int64_t unix_seconds);

}  // namespace freshet::demo

#endif  // FRESHET_LAB_DEMO_TIMELINE_H_
