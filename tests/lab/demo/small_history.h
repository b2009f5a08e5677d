// A history that is small enough to calculate by hand. A day takes one second of wall time.
#ifndef FRESHET_TESTS_LAB_DEMO_SMALL_HISTORY_H_
#define FRESHET_TESTS_LAB_DEMO_SMALL_HISTORY_H_

#include <cstdint>
#include <vector>

#include "lab/common/history.h"
#include "lab/demo/replayed_history.h"
#include "lab/demo/timeline.h"

namespace freshet::demo {

inline constexpr int64_t kFirstDay = 10000;           // first day of the history, in days since
                                                      // 1970
inline constexpr int64_t kWallBegin = 1'000'000'000;  // microseconds
inline constexpr int64_t kWallDay = 1'000'000;

// HistoryDay() returns a day of the replay as history time, in Unix seconds. WallDay() returns it
// as wall time, in microseconds.
inline int64_t HistoryDay(double day) {
  return kFirstDay * kDaySeconds + static_cast<int64_t>(day * kDaySeconds);
}
inline int64_t WallDay(double day) { return kWallBegin + static_cast<int64_t>(day * kWallDay); }

inline Timeline TenDays() {
  return {.history_begin_seconds = HistoryDay(0),
          .history_end_seconds = HistoryDay(10),
          .wall_begin_micros = kWallBegin,
          .wall_micros_per_day = kWallDay};
}

// Page a changes on days 2 and 6, has a minor touch on day 6.5, and has weight 3. Page b never
// changes and has weight 1. Page c appears on day 4, changes on day 5 and has weight 4.
inline std::vector<HistoryPage> ThreePages() {
  return {
      {.url = "https://x.example/a",
       .importance = 3,
       .first_seen_seconds = HistoryDay(-5),
       .touches = {{HistoryDay(-3), true},
                   {HistoryDay(2), true},
                   {HistoryDay(6), true},
                   {HistoryDay(6.5), false}}},
      {.url = "https://x.example/b", .importance = 1, .first_seen_seconds = HistoryDay(-1)},
      {.url = "https://x.example/c",
       .importance = 4,
       .first_seen_seconds = HistoryDay(4),
       .touches = {{HistoryDay(5), true}}},
      {.url = "https://x.example/later", .importance = 9, .first_seen_seconds = HistoryDay(11)},
  };
}

}  // namespace freshet::demo

#endif  // FRESHET_TESTS_LAB_DEMO_SMALL_HISTORY_H_
