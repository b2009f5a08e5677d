#include "lab/demo/replayed_history.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <tuple>

#include "lab/common/announced.h"

namespace freshet::demo {
namespace {

// Removes the segments "." and ".." of a path that starts with a slash.
std::string WithoutDotSegments(std::string_view path) {
  std::string out;
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at + 1), path.size());
    const std::string_view segment = path.substr(at, end - at);  // with its leading slash
    const bool last = end == path.size();
    if (segment == "/..") out.resize(std::min(out.rfind('/'), out.size()));
    if (segment == "/." || segment == "/..") {
      if (last) out += '/';
    } else {
      out += segment;
    }
    at = end;
  }
  return out;
}

// Returns the common form of all spellings of a URL: with escapes decoded, the host in lower case,
// and no dot segments.
std::string PlainUrl(std::string_view url) {
  std::string plain;
  for (size_t i = 0; i < url.size(); ++i) {
    unsigned value = 0;
    const char* digits = url.data() + i + 1;
    if (url[i] == '%' && i + 2 < url.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      plain += static_cast<char>(value);
      i += 2;
    } else {
      plain += url[i];
    }
  }
  const size_t scheme = plain.find("://");
  const size_t host = scheme == std::string::npos ? 0 : scheme + 3;
  const size_t path = std::min(plain.find('/', host), plain.size());
  std::transform(plain.begin(), plain.begin() + static_cast<ptrdiff_t>(path), plain.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return plain.substr(0, path) + WithoutDotSegments(std::string_view(plain).substr(path));
}

}  // namespace

ReplayedHistory::ReplayedHistory(const std::vector<HistoryPage>& history, const Timeline& timeline,
                                 double recall)
    : timeline_(timeline) {
  constexpr uint64_t kSeed = 1;
  pages_.reserve(history.size());
  for (size_t place = 0; place < history.size(); ++place) {
    const HistoryPage& row = history[place];
    if (row.first_seen_seconds > timeline.history_end_seconds) continue;
    const auto page = static_cast<uint32_t>(pages_.size());
    const int64_t begin = timeline.wall_begin_micros;
    const int64_t born = std::max(begin, timeline.ToWallMicros(row.first_seen_seconds));
    pages_.push_back({.url = row.url, .importance = row.importance, .born_micros = born});
    if (born > begin) events_.push_back({born, ReplayedEventKind::kBirth, page});
    for (size_t i = 0; i < row.touches.size(); ++i) {
      const Touch& touch = row.touches[i];
      const int64_t time = timeline.ToWallMicros(touch.unix_seconds);
      if (time <= born || touch.unix_seconds > timeline.history_end_seconds) continue;
      if (touch.change) pages_.back().changes_micros.push_back(time);
      events_.push_back(
          {.time_micros = time,
           .kind = touch.change ? ReplayedEventKind::kChange : ReplayedEventKind::kMinorTouch,
           .page = page,
           .announced = !touch.change || IsAnnounced(kSeed, place, i, recall)});
    }
  }
  std::sort(events_.begin(), events_.end(), [](const ReplayedEvent& a, const ReplayedEvent& b) {
    return std::tie(a.time_micros, a.kind, a.page) < std::tie(b.time_micros, b.kind, b.page);
  });
  for (uint32_t page = 0; page < pages_.size(); ++page) {
    page_of_url_.emplace(pages_[page].url, page);
    page_of_plain_url_.emplace(PlainUrl(pages_[page].url), page);
  }
}

std::optional<uint32_t> ReplayedHistory::Find(std::string_view url) const {
  if (const auto it = page_of_url_.find(url); it != page_of_url_.end()) return it->second;
  const auto it = page_of_plain_url_.find(PlainUrl(url));
  if (it == page_of_plain_url_.end()) return std::nullopt;
  return it->second;
}

bool ReplayedHistory::ChangedWithin(uint32_t page, int64_t after_micros,
                                    int64_t until_micros) const {
  const std::vector<int64_t>& changes = pages_[page].changes_micros;
  const auto next = std::upper_bound(changes.begin(), changes.end(), after_micros);
  return next != changes.end() && *next <= until_micros;
}

}  // namespace freshet::demo
