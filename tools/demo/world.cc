#include "tools/demo/world.h"

#include <algorithm>
#include <tuple>

namespace freshet::demo {

World::World(const std::vector<HistoryPage>& history, const Timeline& timeline)
    : timeline_(timeline) {
  pages_.reserve(history.size());
  for (const HistoryPage& row : history) {
    if (row.first_seen_seconds > timeline.history_end_seconds) continue;
    const auto page = static_cast<uint32_t>(pages_.size());
    const int64_t begin = timeline.wall_begin_micros;
    const int64_t born = std::max(begin, timeline.ToWallMicros(row.first_seen_seconds));
    pages_.push_back({.url = row.url, .importance = row.importance, .born_micros = born});
    if (born > begin) events_.push_back({born, WorldEventKind::kBirth, page});
    for (const Touch& touch : row.touches) {
      const int64_t time = timeline.ToWallMicros(touch.unix_seconds);
      if (time <= born || touch.unix_seconds > timeline.history_end_seconds) continue;
      if (touch.change) pages_.back().changes_micros.push_back(time);
      events_.push_back(
          {time, touch.change ? WorldEventKind::kChange : WorldEventKind::kMinorTouch, page});
    }
  }
  std::sort(events_.begin(), events_.end(), [](const WorldEvent& a, const WorldEvent& b) {
    return std::tie(a.time_micros, a.kind, a.page) < std::tie(b.time_micros, b.kind, b.page);
  });
  for (uint32_t page = 0; page < pages_.size(); ++page) {
    page_of_url_.emplace(pages_[page].url, page);
  }
}

std::optional<uint32_t> World::Find(std::string_view url) const {
  const auto it = page_of_url_.find(url);
  if (it == page_of_url_.end()) return std::nullopt;
  return it->second;
}

bool World::ChangedWithin(uint32_t page, int64_t after_micros, int64_t until_micros) const {
  const std::vector<int64_t>& changes = pages_[page].changes_micros;
  const auto next = std::upper_bound(changes.begin(), changes.end(), after_micros);
  return next != changes.end() && *next <= until_micros;
}

}  // namespace freshet::demo
