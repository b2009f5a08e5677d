#include "lab/sim/replay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "core/base/check.h"
#include "core/base/url.h"
#include "lab/common/announced.h"

namespace freshet {
namespace {

struct Arrival {
  Instant at;
  ReplaySignal signal;
};

// The true pages. They answer crawls, and sum up the times in which pages were stale.
class ReplayedPages {
 public:
  // Settled freshness is counted from the instant `settled` on.
  ReplayedPages(const std::vector<ReplayPage>& pages, Instant begin, Instant settled, Instant end)
      : pages_(pages), begin_(begin), settled_(settled), end_(end), copies_(pages.size()) {}

  // Returns the number of pages that have appeared by `now`. Pages are in order of first_seen.
  [[nodiscard]] size_t Known(Instant now, size_t known) const {
    while (known < pages_.size() && pages_[known].first_seen <= now) ++known;
    return known;
  }
  [[nodiscard]] Instant AppearsAt(size_t page) const {
    return std::max(pages_[page].first_seen, begin_);
  }
  void Appear(size_t page) { SkipTouches(page, AppearsAt(page)); }

  // Crawls the page. Returns true if the copy was stale.
  bool Crawl(size_t page, Instant now) {
    Copy& copy = copies_[page];
    const Instant changed = StaleSince(page);
    const bool stale = changed <= now;
    if (stale) {
      copy.stale_days += DaysOf(page, changed, now);
      copy.settled_stale_days += DaysOf(page, std::max(changed, settled_), now);
    }
    SkipTouches(page, now);
    return stale;
  }
  [[nodiscard]] bool Gone(size_t page, Instant now) const { return pages_[page].gone_at <= now; }

  void AddUp(size_t known, ReplayResult* result) {
    Sums all;
    Sums settled;
    for (size_t page = 0; page < known; ++page) {
      Crawl(page, end_);
      const Instant appears = AppearsAt(page);
      all.Add(pages_[page].importance, DaysOf(page, appears, end_), copies_[page].stale_days);
      settled.Add(pages_[page].importance, DaysOf(page, std::max(appears, settled_), end_),
                  copies_[page].settled_stale_days);
    }
    result->pages = known;
    result->freshness = all.Freshness(1);
    result->weighted_freshness = all.WeightedFreshness(1);
    constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
    result->settled_freshness = settled.Freshness(kNothing);
    result->settled_weighted_freshness = settled.WeightedFreshness(kNothing);
  }

 private:
  struct Copy {
    size_t next_touch = 0;  // the first touch that is not in the copy yet
    double stale_days = 0;
    double settled_stale_days = 0;
  };
  // Page-time, and the part of it in which the copy was stale.
  struct Sums {
    double time = 0;
    double weighted_time = 0;
    double stale = 0;
    double weighted_stale = 0;

    void Add(double importance, double exists, double stale_days) {
      time += exists;
      weighted_time += importance * exists;
      stale += stale_days;
      weighted_stale += importance * stale_days;
    }
    [[nodiscard]] double Freshness(double without_time) const {
      return time > 0 ? 1 - stale / time : without_time;
    }
    [[nodiscard]] double WeightedFreshness(double without_time) const {
      return weighted_time > 0 ? 1 - weighted_stale / weighted_time : without_time;
    }
  };

  // Returns the days between `from` and `to` before the page is gone.
  [[nodiscard]] double DaysOf(size_t page, Instant from, Instant to) const {
    return std::max(0.0, (std::min(to, pages_[page].gone_at) - from).seconds() / 86400);
  }

  void SkipTouches(size_t page, Instant now) {
    Copy& copy = copies_[page];
    const auto& touches = pages_[page].touches;
    while (copy.next_touch < touches.size() && touches[copy.next_touch].at <= now) {
      ++copy.next_touch;
    }
  }
  // Returns the time of the next content change, skipping minor touches; infinite = there is none.
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
  Instant settled_;
  Instant end_;
  std::vector<Copy> copies_;
};

// Returns all signals of the span in the order of their arrival. A page has at most one signal per
// time of arrival.
std::vector<Arrival> Arrivals(const std::vector<ReplayPage>& pages, const ReplayOptions& options,
                              Instant begin, Instant end) {
  std::vector<Arrival> arrivals;
  for (size_t page = 0; page < pages.size(); ++page) {
    const auto& touches = pages[page].touches;
    for (size_t i = 0; i < touches.size(); ++i) {
      const ReplayPage::Touch& touch = touches[i];
      if (touch.at <= begin || touch.at > end || !touch.signalled) continue;
      if (touch.changed && !IsAnnounced(options.seed, page, i, options.signal_recall)) continue;
      const Instant at = NextPoll(touch.at + touch.delay, options.signal_delay);
      if (at > end) continue;
      arrivals.push_back({at, {.page = page, .changed = touch.dated ? touch.at : at}});
    }
  }
  std::sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
    return std::tuple(a.at, a.signal.page, b.signal.changed) <
           std::tuple(b.at, b.signal.page, a.signal.changed);
  });
  // Within each page, the newest signal comes first and is kept.
  const auto last = std::unique(arrivals.begin(), arrivals.end(), [](const auto& a, const auto& b) {
    return a.at == b.at && a.signal.page == b.signal.page;
  });
  arrivals.erase(last, arrivals.end());
  return arrivals;
}

// Passes events to the policy: new pages, and the results of polls.
class Feed {
 public:
  Feed(const std::vector<ReplayPage>& pages, ReplayedPages& replayed, std::vector<Arrival> arrivals,
       ReplayPolicy& policy)
      : pages_(pages), replayed_(replayed), arrivals_(std::move(arrivals)), policy_(policy) {}

  // Passes all events before the crawl at `now`.
  void CatchUp(Instant now) {
    while (true) {
      const Instant page_at =
          known_ < pages_.size() ? replayed_.AppearsAt(known_) : Instant::Infinite();
      const Instant poll_at =
          arrived_ < arrivals_.size() ? arrivals_[arrived_].at : Instant::Infinite();
      if (std::min(page_at, poll_at) > now || (page_at.infinite() && poll_at.infinite())) return;
      if (page_at <= poll_at) {
        replayed_.Appear(known_);
        policy_.Add(known_++, page_at);
        continue;
      }
      poll_.clear();
      for (; arrived_ < arrivals_.size() && arrivals_[arrived_].at == poll_at; ++arrived_) {
        poll_.push_back(arrivals_[arrived_].signal);
      }
      policy_.Signal(poll_, poll_at);
    }
  }
  [[nodiscard]] size_t known() const { return known_; }

 private:
  const std::vector<ReplayPage>& pages_;
  ReplayedPages& replayed_;
  std::vector<Arrival> arrivals_;
  ReplayPolicy& policy_;
  size_t known_ = 0;    // pages that have appeared
  size_t arrived_ = 0;  // arrivals that the policy has received
  std::vector<ReplaySignal> poll_;
};

Status Validate(const ReplayOptions& options) {
  if (!(options.crawls_per_day > 0) || !std::isfinite(options.crawls_per_day)) {
    return InvalidArgument("--crawls-per-day: '{}' is not a number above 0",
                           options.crawls_per_day);
  }
  if (!(options.signal_recall >= 0 && options.signal_recall <= 1)) {
    return InvalidArgument("--signal-recall: '{}' is not a number from 0 to 1",
                           options.signal_recall);
  }
  if (options.signal_delay < Duration())
    return InvalidArgument("--signal-delay-days: a delay cannot be negative");
  return {};
}

}  // namespace

Instant NextPoll(Instant at, Duration period) {
  if (period <= Duration()) return at;
  const int64_t polls = (at.micros() + period.micros() - 1) / period.micros();
  return Instant::FromMicros(polls * period.micros());
}

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

StatusOr<ReplaySpan> SpanOf(const std::vector<ReplayPage>& pages, const ReplayOptions& options) {
  RETURN_IF_ERROR(Validate(options));
  CHECK(!pages.empty());
  Instant last = pages.front().first_seen;
  for (const ReplayPage& page : pages) {
    last = std::max({last, page.first_seen, page.touches.empty() ? last : page.touches.back().at});
  }
  const ReplaySpan span{options.from.value_or(pages.front().first_seen), options.to.value_or(last)};
  if (span.begin >= span.end)
    return InvalidArgument("--from, --to: the begin must be before the end");
  if (pages.front().first_seen >= span.end)
    return InvalidArgument("--to: no page exists before this time");
  return span;
}

StatusOr<ReplayResult> Replay(const std::vector<ReplayPage>& pages, const ReplayOptions& options,
                              ReplayPolicy& policy) {
  ASSIGN_OR_RETURN(const ReplaySpan span, SpanOf(pages, options));
  const Instant begin = span.begin;
  const Instant end = span.end;
  ReplayedPages replayed(pages, begin, options.count_from.value_or(end), end);
  Feed feed(pages, replayed, Arrivals(pages, options, begin, end), policy);
  ReplayResult result;
  uint64_t changed = 0;
  const double interval = 86400 / options.crawls_per_day;
  for (uint64_t tick = 1;; ++tick) {
    const Instant now = begin + Duration::FromSeconds(interval * static_cast<double>(tick));
    if (now >= end) break;
    feed.CatchUp(now);
    if (feed.known() == 0) continue;
    const std::optional<size_t> page = policy.Pick(now);
    if (!page) continue;
    CHECK(*page < feed.known(), "page {} of {}", *page, feed.known());
    ++result.crawls;
    const bool was_stale = replayed.Crawl(*page, now);
    if (replayed.Gone(*page, now)) {
      policy.Gone(*page, now);
      continue;
    }
    policy.Crawled(*page, now, was_stale);
    changed += was_stale ? 1 : 0;
  }
  replayed.AddUp(replayed.Known(end, feed.known()), &result);
  if (result.crawls > 0) {
    result.changed_share = static_cast<double>(changed) / static_cast<double>(result.crawls);
  }
  return result;
}

}  // namespace freshet
