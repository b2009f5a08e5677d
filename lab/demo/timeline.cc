#include "lab/demo/timeline.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>

namespace freshet::demo {
namespace {

constexpr double kShortestDayMicros = 1000;  // minimum of freshetd's horizons.day
constexpr double kLongestRunSeconds = 86400;

}  // namespace

int64_t Timeline::ToWallMicros(int64_t history_seconds) const {
  const auto elapsed = static_cast<double>(history_seconds - history_begin_seconds);
  return wall_begin_micros +
         static_cast<int64_t>(std::floor(elapsed * (wall_micros_per_day / kDaySeconds)));
}

int64_t Timeline::ToHistorySeconds(int64_t wall_micros) const {
  const auto elapsed = static_cast<double>(wall_micros - wall_begin_micros);
  return history_begin_seconds +
         static_cast<int64_t>(std::floor(elapsed * (kDaySeconds / wall_micros_per_day)));
}

double Timeline::days() const {
  return static_cast<double>(history_end_seconds - history_begin_seconds) / kDaySeconds;
}

StatusOr<Timeline> MakeTimeline(const std::vector<HistoryPage>& history, double seconds,
                                double days) {
  if (!(seconds >= 1 && seconds <= kLongestRunSeconds)) {
    return InvalidArgument("seconds: {} is not a number from 1 to {}", seconds, kLongestRunSeconds);
  }
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = 0;
  for (const HistoryPage& page : history) {
    first = std::min(first, page.first_seen_seconds);
    last = std::max(last, page.first_seen_seconds);
    if (!page.touches.empty()) last = std::max(last, page.touches.back().unix_seconds);
  }
  const double wall_micros = seconds * 1e6;
  if (!(days > 0)) return InvalidArgument("days: {} is not a number above 0", days);
  const double span = std::floor(days * kDaySeconds);
  Timeline timeline;
  timeline.history_end_seconds = last;
  timeline.history_begin_seconds =
      span < static_cast<double>(last - first) ? last - static_cast<int64_t>(span) : first;
  if (timeline.history_begin_seconds >= last) return InvalidArgument("the history has no length");
  timeline.wall_micros_per_day = wall_micros / timeline.days();
  if (!(timeline.wall_micros_per_day >= kShortestDayMicros)) {
    return InvalidArgument(
        "one day of the history would take {:.3f} ms, but at least 1 ms is needed: choose a longer "
        "run",
        timeline.wall_micros_per_day / 1000);
  }
  return timeline;
}

std::string FormatDate(int64_t unix_seconds) {
  const auto time = static_cast<std::time_t>(unix_seconds);
  std::tm date{};
  gmtime_r(&time, &date);
  return fmt::format("{:04}-{:02}-{:02}", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday);
}

}  // namespace freshet::demo
