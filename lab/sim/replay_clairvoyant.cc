#include "lab/sim/replay_clairvoyant.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include "core/base/check.h"

namespace freshet {
namespace {

constexpr Duration kPricePeriod = Duration::Days(10);

}  // namespace

ClairvoyantReplay::ClairvoyantReplay(const World& world, double crawls_per_day)
    : world_(world), crawls_per_day_(crawls_per_day), pages_(world.pages.size()) {
  const ReplayTruth truth = TruthOf(world, 1);
  for (size_t page = 0; page < world.pages.size(); ++page) {
    for (const TrueRates& rates : truth.rates[page]) {
      happenings_.push_back({rates.from, page, What::kRates, rates.change_rate});
    }
    for (const ReplayPage::Touch& touch : world.pages[page].touches) {
      if (touch.changed) happenings_.push_back({touch.at, page});
    }
    if (!world.pages[page].gone_at.infinite()) {
      happenings_.push_back({world.pages[page].gone_at, page, What::kDeath});
    }
  }
  std::sort(happenings_.begin(), happenings_.end(), [](const Happening& a, const Happening& b) {
    return std::tuple(a.at, a.page, a.what) < std::tuple(b.at, b.page, b.what);
  });
}

void ClairvoyantReplay::SetStale(size_t page, bool stale) {
  Page& state = pages_[page];
  if (state.stale) stale_.erase({-state.urgency, page});
  state.stale = stale;
  if (!stale) return;
  state.urgency = world_.pages[page].importance - price_ * state.change_rate;
  stale_.insert({-state.urgency, page});
}

void ClairvoyantReplay::Happen(const Happening& happening) {
  const size_t page = happening.page;
  Page& state = pages_[page];
  switch (happening.what) {
    case What::kRates:
      state.change_rate = happening.change_rate;
      SetStale(page, state.stale);
      return;
    case What::kChange:
      if (state.known) SetStale(page, true);
      return;
    case What::kDeath:
      Gone(page, happening.at);
      return;
  }
}

double ClairvoyantReplay::Price() const {
  std::vector<std::pair<double, double>> values;  // mu/Delta, Delta
  for (size_t page = 0; page < pages_.size(); ++page) {
    const double rate = pages_[page].change_rate;
    if (!pages_[page].known || rate <= 0) continue;
    values.emplace_back(world_.pages[page].importance / rate, rate);
  }
  std::sort(values.begin(), values.end(), std::greater<>());
  double crawls = 0;
  for (const auto& [value, rate] : values) {
    crawls += rate;
    if (crawls > crawls_per_day_) return value;
  }
  return 0;
}

void ClairvoyantReplay::CatchUp(Instant now) {
  for (; next_ < happenings_.size() && happenings_[next_].at <= now; ++next_) {
    Happen(happenings_[next_]);
  }
  if (!price_until_.is_none() && now < price_until_) return;
  price_until_ = now + kPricePeriod;
  price_ = Price();
  const auto old = std::move(stale_);
  stale_.clear();
  for (const auto& [urgency, page] : old) {
    pages_[page].stale = false;
    SetStale(page, true);
  }
}

void ClairvoyantReplay::Add(size_t page, Instant now) {
  // The first copy of the page is fresh, so the page's earlier events are played before the page
  // counts as known.
  CatchUp(now);
  pages_[page].known = world_.pages[page].gone_at > now;
}

std::optional<size_t> ClairvoyantReplay::Pick(Instant now) {
  CatchUp(now);
  if (stale_.empty()) return std::nullopt;
  return stale_.begin()->second;
}

void ClairvoyantReplay::Crawled(size_t page, Instant, bool changed) {
  DCHECK(changed, "page {}", page);
  SetStale(page, false);
}

void ClairvoyantReplay::Gone(size_t page, Instant) {
  SetStale(page, false);
  pages_[page].known = false;
}

}  // namespace freshet
