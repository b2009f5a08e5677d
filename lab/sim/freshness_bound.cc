#include "lab/sim/freshness_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

namespace freshet {
namespace {

constexpr size_t kFirstGroups = 64;
constexpr size_t kMostGroups = 16'384;
constexpr int kStepsALevel = 80;

// A span of time in which a page is stale. The unit is the time between two crawls; crawls come at
// the ticks 1, 2, ... after the beginning of the replay.
struct StaleSpan {
  double weight = 0;
  size_t first = 0;  // first tick in the span
  double end = 0;

  [[nodiscard]] double GainAt(size_t tick) const {
    return weight * (end - static_cast<double>(tick));
  }
};

// Divides the ticks into groups of nearly equal size, and gives each group a price.
class TickPrices {
 public:
  TickPrices(size_t ticks, double price) : ticks_(ticks), prices_(1, price) {}

  [[nodiscard]] size_t groups() const { return prices_.size(); }
  // Splits the groups evenly, so that there are `groups` of them. The parts keep the price.
  void Split(size_t groups) {
    std::vector<double> split(groups);
    for (size_t group = 0; group < groups; ++group) {
      split[group] = prices_[group * prices_.size() / groups];
    }
    prices_ = std::move(split);
  }
  // Returns an upper bound of the gain at these prices. `wanted` gets the number of spans that want
  // a crawl in each group.
  [[nodiscard]] double Bound(const std::vector<StaleSpan>& spans,
                             std::vector<double>* wanted) const {
    wanted->assign(groups(), 0);
    double bound = 0;
    for (size_t group = 0; group < groups(); ++group) bound += prices_[group] * Size(group);
    for (const StaleSpan& span : spans) bound += Best(span, wanted);
    return bound;
  }
  // Makes one subgradient step: raises the price of a group in which more crawls are wanted than it
  // has ticks, and lowers the others.
  void Step(double step, const std::vector<double>& wanted) {
    constexpr double kMostExcess = 3;
    for (size_t group = 0; group < groups(); ++group) {
      const double excess = std::min(kMostExcess, wanted[group] / Size(group) - 1);
      prices_[group] = std::max(0.0, prices_[group] + step * excess);
    }
  }

 private:
  [[nodiscard]] size_t FirstTick(size_t group) const { return ticks_ * group / groups() + 1; }
  [[nodiscard]] double Size(size_t group) const {
    return static_cast<double>(FirstTick(group + 1) - FirstTick(group));
  }
  [[nodiscard]] size_t GroupOf(size_t tick) const {
    size_t group = (tick - 1) * groups() / ticks_;
    while (FirstTick(group + 1) <= tick) ++group;
    return group;
  }
  // Returns the span's gain minus the price, in the best group for the span; at least 0.
  double Best(const StaleSpan& span, std::vector<double>* wanted) const {
    double best = 0;
    size_t chosen = groups();
    size_t tick = span.first;
    for (size_t group = GroupOf(tick); group < groups(); tick = FirstTick(++group)) {
      const double gain = span.GainAt(tick);
      if (gain <= best) break;  // later groups gain less
      if (gain - prices_[group] <= best) continue;
      best = gain - prices_[group];
      chosen = group;
    }
    if (chosen < groups()) (*wanted)[chosen] += 1;
    return best;
  }

  size_t ticks_;
  std::vector<double> prices_;
};

// Returns an upper bound of the gain from all spans.
double GainBound(const std::vector<StaleSpan>& spans, size_t ticks) {
  if (spans.empty() || ticks == 0) return 0;
  std::vector<double> gains;
  double mean = 0;
  for (const StaleSpan& span : spans) {
    gains.push_back(span.GainAt(span.first));
    mean += gains.back() / static_cast<double>(spans.size());
  }
  double price = 0;
  if (ticks < gains.size()) {
    const auto last = gains.begin() + static_cast<ptrdiff_t>(ticks);
    std::nth_element(gains.begin(), last, gains.end(), std::greater<>());
    price = *last;
  }
  TickPrices prices(ticks, price);
  std::vector<double> wanted;
  double best = prices.Bound(spans, &wanted);
  double step = 0.3 * std::max(price, 0.05 * mean);
  for (size_t groups = kFirstGroups; groups <= kMostGroups; groups *= 4, step /= 2) {
    prices.Split(std::min(groups, ticks));
    for (int i = 0; i < kStepsALevel; ++i) {
      best = std::min(best, prices.Bound(spans, &wanted));
      prices.Step(step / std::sqrt(1.0 + i), wanted);
    }
    if (groups >= ticks) break;
  }
  return best;
}

// Collects the spans in which a crawl of a page has a gain, and sums up the time of all pages.
class PageSpans {
 public:
  PageSpans(const ReplaySpan& span, double crawls_per_day)
      : span_(span),
        interval_(86400 / crawls_per_day),
        ticks_(static_cast<size_t>(TickOf(span.end))) {}

  void AddPage(const ReplayPage& page, double weight) {
    const Instant appears = std::max(page.first_seen, span_.begin);
    const Instant ends = std::min(page.gone_at, span_.end);
    if (appears >= ends) return;
    page_time_ += weight * (TickOf(ends) - TickOf(appears));
    Instant stale_since = Instant::Infinite();
    for (const ReplayPage::Touch& touch : page.touches) {
      if (!touch.changed || touch.at <= appears || touch.at >= ends) continue;
      if (stale_since.infinite()) stale_time_ += weight * (TickOf(ends) - TickOf(touch.at));
      AddSpan(weight, stale_since, touch.at);
      stale_since = touch.at;
    }
    AddSpan(weight, stale_since, ends);
  }

  [[nodiscard]] double Staleness() const {
    if (page_time_ <= 0) return 0;
    return std::max(0.0, stale_time_ - GainBound(spans_, ticks_)) / page_time_;
  }

 private:
  [[nodiscard]] double TickOf(Instant at) const { return (at - span_.begin).seconds() / interval_; }

  void AddSpan(double weight, Instant from, Instant to) {
    if (from.infinite() || from >= to) return;
    const auto first = static_cast<size_t>(std::max(1.0, std::ceil(TickOf(from))));
    const StaleSpan span{weight, first, TickOf(to)};
    if (first <= ticks_ && span.GainAt(first) > 0) spans_.push_back(span);
  }

  const ReplaySpan span_;
  double interval_;  // seconds between two ticks
  size_t ticks_;     // number of ticks in the replay
  double page_time_ = 0;
  double stale_time_ = 0;  // without any crawl
  std::vector<StaleSpan> spans_;
};

}  // namespace

StatusOr<FreshnessBounds> FreshnessBound(const std::vector<ReplayPage>& pages,
                                         const ReplayOptions& options) {
  ASSIGN_OR_RETURN(const ReplaySpan span, SpanOf(pages, options));
  PageSpans weighted(span, options.crawls_per_day);
  PageSpans plain(span, options.crawls_per_day);
  for (const ReplayPage& page : pages) {
    weighted.AddPage(page, page.importance);
    plain.AddPage(page, 1);
  }
  return FreshnessBounds{weighted.Staleness(), plain.Staleness()};
}

}  // namespace freshet
