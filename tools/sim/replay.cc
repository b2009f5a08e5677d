#include "tools/sim/replay.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/base/url.h"

namespace freshet {
namespace {

// Uniform in [0, 1): splitmix64 (Steele, Lea and Flood 2014) over seed, page and touch.
double HashToUnit(uint64_t seed, uint64_t page, uint64_t touch) {
  uint64_t x = seed;
  for (const uint64_t part : {page, touch}) {
    x += part * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    x ^= x >> 31;
  }
  return static_cast<double>(x >> 11) * 0x1p-53;
}

// The first multiple of `period` that is not before `at`; `at` itself for a period of zero.
Instant NextMultiple(Instant at, Duration period) {
  if (period <= Duration()) return at;
  const int64_t polls = (at.micros() + period.micros() - 1) / period.micros();
  return Instant::FromMicros(polls * period.micros());
}

struct Arrival {
  Instant at;
  ReplaySignal signal;
};

// The pages as they are: what a crawl would find, and how long pages were stale.
class ReplayedPages {
 public:
  ReplayedPages(const std::vector<ReplayPage>& pages, Instant begin, Instant end)
      : pages_(pages), begin_(begin), end_(end), copies_(pages.size()) {}

  // Pages before this one have appeared by `now`. Pages are in order of first_seen.
  [[nodiscard]] size_t Known(Instant now, size_t known) const {
    while (known < pages_.size() && pages_[known].first_seen <= now) ++known;
    return known;
  }
  [[nodiscard]] Instant AppearsAt(size_t page) const {
    return std::max(pages_[page].first_seen, begin_);
  }
  void Appear(size_t page) { SkipTouches(page, AppearsAt(page)); }

  // Whether the copy was stale.
  bool Crawl(size_t page, Instant now) {
    Copy& copy = copies_[page];
    const Instant changed = StaleSince(page);
    const bool stale = changed <= now;
    if (stale) copy.stale_days += Days(now - changed);
    SkipTouches(page, now);
    return stale;
  }

  void AddUp(size_t known, ReplayResult* result) {
    double time = 0;
    double weighted_time = 0;
    double stale = 0;
    double weighted_stale = 0;
    for (size_t page = 0; page < known; ++page) {
      Crawl(page, end_);
      const double exists = Days(end_ - AppearsAt(page));
      time += exists;
      weighted_time += pages_[page].importance * exists;
      stale += copies_[page].stale_days;
      weighted_stale += pages_[page].importance * copies_[page].stale_days;
    }
    result->pages = known;
    result->freshness = time > 0 ? 1 - stale / time : 1;
    result->weighted_freshness = weighted_time > 0 ? 1 - weighted_stale / weighted_time : 1;
  }

 private:
  struct Copy {
    size_t next_touch = 0;  // first that the copy does not show
    double stale_days = 0;
  };

  static double Days(Duration d) { return d.seconds() / 86400; }

  void SkipTouches(size_t page, Instant now) {
    Copy& copy = copies_[page];
    const auto& touches = pages_[page].touches;
    while (copy.next_touch < touches.size() && touches[copy.next_touch].at <= now) {
      ++copy.next_touch;
    }
  }
  // Moves past minor touches; infinite if no change is left.
  Instant StaleSince(size_t page) {
    Copy& copy = copies_[page];
    const auto& touches = pages_[page].touches;
    while (copy.next_touch < touches.size() && !touches[copy.next_touch].changed) {
      ++copy.next_touch;
    }
    return copy.next_touch < touches.size() ? touches[copy.next_touch].at : Instant::Infinite();
  }

  const std::vector<ReplayPage>& pages_;
  Instant begin_;
  Instant end_;
  std::vector<Copy> copies_;
};

// All signals of the span in order of arrival, of one page at most one an arrival.
std::vector<Arrival> Arrivals(const std::vector<ReplayPage>& pages, const ReplayOptions& options,
                              Instant begin, Instant end) {
  std::vector<Arrival> arrivals;
  for (size_t page = 0; page < pages.size(); ++page) {
    const auto& touches = pages[page].touches;
    for (size_t i = 0; i < touches.size(); ++i) {
      const ReplayPage::Touch& touch = touches[i];
      if (touch.at <= begin || touch.at > end) continue;
      if (touch.changed && HashToUnit(options.seed, page, i) >= options.signal_recall) continue;
      const Instant at = NextMultiple(touch.at, options.signal_delay);
      if (at > end) continue;
      if (!arrivals.empty() && arrivals.back().signal.page == page && arrivals.back().at == at) {
        arrivals.back().signal.changed = touch.at;
      } else {
        arrivals.push_back({at, {.page = page, .changed = touch.at}});
      }
    }
  }
  std::stable_sort(arrivals.begin(), arrivals.end(),
                   [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
  return arrivals;
}

Status Validate(const ReplayOptions& options) {
  if (!(options.crawls_per_day > 0) || !std::isfinite(options.crawls_per_day)) {
    return InvalidArgument("crawls-per-day: {} is not a finite number > 0", options.crawls_per_day);
  }
  if (!(options.signal_recall >= 0 && options.signal_recall <= 1)) {
    return InvalidArgument("signal-recall: {} is not in [0, 1]", options.signal_recall);
  }
  if (options.signal_delay < Duration()) return InvalidArgument("signal-delay-days: negative");
  return {};
}

}  // namespace

StatusOr<std::vector<ReplayPage>> PrepareReplay(const std::vector<HistoryPage>& history) {
  std::vector<ReplayPage> pages;
  pages.reserve(history.size());
  for (const HistoryPage& row : history) {
    StatusOr<CanonicalUrl> url = Canonicalise(row.url);
    if (!url.ok()) {
      return InvalidArgument("{}: {}", row.url, std::string(url.status().message()));
    }
    ReplayPage page{.url = std::move(url->text),
                    .host = std::move(url->host),
                    .importance = row.importance,
                    .first_seen = Instant::FromUnixSeconds(row.first_seen_seconds)};
    for (const Touch& touch : row.touches) {
      if (touch.unix_seconds <= row.first_seen_seconds) continue;
      page.touches.push_back({Instant::FromUnixSeconds(touch.unix_seconds), touch.change});
    }
    pages.push_back(std::move(page));
  }
  std::stable_sort(pages.begin(), pages.end(), [](const ReplayPage& a, const ReplayPage& b) {
    return a.first_seen < b.first_seen;
  });
  return pages;
}

StatusOr<ReplayResult> Replay(const std::vector<ReplayPage>& pages, const ReplayOptions& options,
                              ReplayPolicy& policy) {
  RETURN_IF_ERROR(Validate(options));
  CHECK(!pages.empty());
  Instant last = pages.front().first_seen;
  for (const ReplayPage& page : pages) {
    last = std::max({last, page.first_seen, page.touches.empty() ? last : page.touches.back().at});
  }
  const Instant begin = options.from.value_or(pages.front().first_seen);
  const Instant end = options.to.value_or(last);
  if (begin >= end) return InvalidArgument("from, to: the span is empty");
  if (pages.front().first_seen >= end) return InvalidArgument("to: no page exists before it");

  ReplayedPages replayed(pages, begin, end);
  const std::vector<Arrival> arrivals = Arrivals(pages, options, begin, end);
  ReplayResult result;
  uint64_t changed = 0;
  size_t known = 0;
  size_t arrived = 0;
  std::vector<ReplaySignal> poll;
  // Lets everything happen that is due before the crawl at `now`.
  const auto catch_up = [&](Instant now) {
    while (true) {
      const Instant page_at =
          known < pages.size() ? replayed.AppearsAt(known) : Instant::Infinite();
      const Instant poll_at =
          arrived < arrivals.size() ? arrivals[arrived].at : Instant::Infinite();
      if (std::min(page_at, poll_at) > now || (page_at.infinite() && poll_at.infinite())) return;
      if (page_at <= poll_at) {
        replayed.Appear(known);
        policy.Add(known++, page_at);
        continue;
      }
      poll.clear();
      for (; arrived < arrivals.size() && arrivals[arrived].at == poll_at; ++arrived) {
        poll.push_back(arrivals[arrived].signal);
      }
      policy.Signal(poll, poll_at);
    }
  };
  const double interval = 86400 / options.crawls_per_day;
  for (uint64_t tick = 1;; ++tick) {
    const Instant now = begin + Duration::FromSeconds(interval * static_cast<double>(tick));
    if (now >= end) break;
    catch_up(now);
    if (known == 0) continue;
    const std::optional<size_t> page = policy.Pick(now);
    if (!page) continue;
    CHECK(*page < known, "page {} of {}", *page, known);
    const bool was_stale = replayed.Crawl(*page, now);
    policy.Crawled(*page, now, was_stale);
    ++result.crawls;
    changed += was_stale ? 1 : 0;
  }
  known = replayed.Known(end, known);
  replayed.AddUp(known, &result);
  if (result.crawls > 0) {
    result.changed_share = static_cast<double>(changed) / static_cast<double>(result.crawls);
  }
  return result;
}

}  // namespace freshet
