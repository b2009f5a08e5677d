#include "tools/demo/uniform.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace freshet::demo {

UniformSchedule::UniformSchedule(const ReplayedHistory& replayed, const LastCrawls& last_crawls,
                                 int64_t start_micros)
    : replayed_(&replayed), ledger_(replayed, last_crawls, start_micros) {
  for (uint32_t page = 0; page < replayed.pages().size(); ++page) {
    if (replayed.pages()[page].born_micros <= start_micros) turn_.push_back(page);
  }
  const auto crawled = [this](uint32_t page) {
    return ledger_.last_crawls()[page].value_or(std::numeric_limits<int64_t>::min());
  };
  std::stable_sort(turn_.begin(), turn_.end(),
                   [&](uint32_t a, uint32_t b) { return crawled(a) < crawled(b); });
  const std::vector<ReplayedEvent>& events = replayed.events();
  while (next_event_ < events.size() && events[next_event_].time_micros <= start_micros) {
    ++next_event_;
  }
}

void UniformSchedule::AdvanceTo(int64_t now_micros, uint64_t crawls) {
  const int64_t start = ledger_.now_micros();
  const double distance = static_cast<double>(now_micros - start) / static_cast<double>(crawls);
  for (uint64_t i = 1; i <= crawls; ++i) {
    Crawl(start + static_cast<int64_t>(std::floor(static_cast<double>(i) * distance)));
  }
  ledger_.AdvanceTo(now_micros);
}

void UniformSchedule::Crawl(int64_t now_micros) {
  const std::vector<ReplayedEvent>& events = replayed_->events();
  for (; next_event_ < events.size() && events[next_event_].time_micros <= now_micros;
       ++next_event_) {
    const ReplayedEvent& event = events[next_event_];
    if (event.kind == ReplayedEventKind::kBirth) turn_.push_front(event.page);
  }
  if (turn_.empty()) return;
  const uint32_t page = turn_.front();
  turn_.pop_front();
  turn_.push_back(page);
  ledger_.Fetch(page, now_micros);
}

}  // namespace freshet::demo
