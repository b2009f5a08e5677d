#include "lab/demo/poll_plan.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace freshet::demo {

PollPlan::PollPlan(const ReplayedHistory& replayed, int64_t polled_until_micros)
    : replayed_(&replayed) {
  const Timeline& timeline = replayed.timeline();
  const int64_t from = std::max(polled_until_micros, timeline.wall_begin_micros);
  const auto elapsed = static_cast<double>(from - timeline.wall_begin_micros);
  day_ = static_cast<int64_t>(std::floor(elapsed / timeline.wall_micros_per_day));
  while (TimeOf(day_) <= from) ++day_;
  next_micros_ = TimeOf(day_);
  const std::vector<ReplayedEvent>& events = replayed.events();
  while (next_event_ < events.size() && events[next_event_].time_micros <= from) ++next_event_;
}

int64_t PollPlan::TimeOf(int64_t day) const {
  const Timeline& timeline = replayed_->timeline();
  return timeline.wall_begin_micros +
         static_cast<int64_t>(std::floor(static_cast<double>(day) * timeline.wall_micros_per_day));
}

Poll PollPlan::Next(int64_t now_micros) {
  while (TimeOf(day_ + 1) <= now_micros && !CoversTheEnd(day_)) ++day_;
  next_micros_ = TimeOf(day_);
  Poll poll{.time_micros = next_micros_};
  std::unordered_map<uint32_t, int64_t> lastmod;
  const std::vector<ReplayedEvent>& events = replayed_->events();
  for (; next_event_ < events.size() && events[next_event_].time_micros <= next_micros_;
       ++next_event_) {
    const ReplayedEvent& event = events[next_event_];
    if (event.kind == ReplayedEventKind::kBirth) {
      poll.births.push_back(event.page);
    } else if (event.announced) {
      lastmod[event.page] = event.time_micros;
    }
  }
  for (const auto& [page, time] : lastmod) poll.touched.push_back({page, time});
  std::sort(poll.touched.begin(), poll.touched.end(),
            [](const TouchedPage& a, const TouchedPage& b) {
              return std::pair(a.lastmod_micros, a.page) < std::pair(b.lastmod_micros, b.page);
            });
  next_micros_ = TimeOf(++day_);
  return poll;
}

bool PollPlan::done() const { return CoversTheEnd(day_ - 1); }

bool PollPlan::CoversTheEnd(int64_t day) const {
  return TimeOf(day) >= replayed_->timeline().wall_end_micros();
}

}  // namespace freshet::demo
