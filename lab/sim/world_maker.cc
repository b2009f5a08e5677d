#include "lab/sim/world_maker.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "fmt/format.h"

namespace freshet {
namespace {

// A Monday, so that each week begins with a Monday.
constexpr Instant kBegin = Instant::FromUnixSeconds(1'578'268'800);  // 2020-01-06

}  // namespace

WorldMaker::WorldMaker(const WorldPlan& plan, uint64_t seed) : random_(seed), days_(plan.days) {
  world_.name = plan.name;
  world_.description = plan.description;
  world_.crawls_per_day = plan.crawls_per_day;
  world_.signal_delay = plan.signal_delay;
  world_.begin = kBegin;
  world_.end = kBegin + Duration::Days(plan.days);
}

double WorldMaker::Gamma(double shape, double mean) {
  const double boost = shape < 1 ? std::pow(1 - random_.Uniform(), 1 / shape) : 1;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    // One of the two normal numbers of Box and Muller.
    const double radius = std::sqrt(-2 * std::log1p(-random_.Uniform()));
    const double x = radius * std::cos(2 * std::numbers::pi * random_.Uniform());
    const double v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    if (std::log1p(-random_.Uniform()) < x * x / 2 + d - d * v + d * std::log(v)) {
      return d * v * boost * mean / shape;
    }
  }
}

double WorldMaker::LogUniform(double low, double high) {
  return low * std::pow(high / low, random_.Uniform());
}

// Returns the instant in whole seconds, so that a history file can store it.
Instant WorldMaker::At(double day) const {
  if (!(day < 1e6)) return Instant::Infinite();
  return world_.begin + Duration::Seconds(static_cast<int64_t>(std::floor(day * 86400)));
}

size_t WorldMaker::AddSilent(const PagePlan& plan) {
  const size_t number = world_.pages.size();
  const auto site = static_cast<size_t>(plan.site);
  if (site >= pages_of_.size()) pages_of_.resize(site + 1);
  ReplayPage page;
  page.host = fmt::format("site{}.test", site);
  page.url = fmt::format("https://{}/{:05}", page.host, pages_of_[site].size());
  page.importance = plan.importance;
  page.first_seen = At(plan.born);
  page.gone_at = At(plan.dies);
  pages_of_[site].push_back(number);
  world_.pages.push_back(std::move(page));
  std::vector<TrueRates>& truth = world_.truth.emplace_back();
  for (const Rates& rates : plan.rates) {
    truth.push_back({.from = At(truth.empty() ? plan.born : rates.from),
                     .change_rate = rates.change_rate,
                     .recall = rates.recall,
                     .false_rate = rates.false_rate});
  }
  return number;
}

template <typename Body>
void WorldMaker::ForEvents(const PagePlan& plan, double Rates::*rate, Body body) {
  const double end = std::min(days_, plan.dies);
  for (size_t i = 0; i < plan.rates.size(); ++i) {
    const Rates& rates = plan.rates[i];
    double day = i == 0 ? plan.born : rates.from;
    const double to = i + 1 < plan.rates.size() ? std::min(plan.rates[i + 1].from, end) : end;
    while ((day += random_.Exponential(rates.*rate)) < to) body(day, rates);
  }
}

double WorldMaker::DrawDelay() {
  if (mean_delay_ == 0) return 0;
  while (true) {
    const double delay = random_.Exponential(1 / mean_delay_);
    if (delay <= most_delay_) return delay;
  }
}

void WorldMaker::DelaySignals(double mean, double most, Told told) {
  mean_delay_ = mean;
  most_delay_ = most;
  told_ = told;
}

size_t WorldMaker::AddChanging(const PagePlan& plan) {
  const size_t page = AddSilent(plan);
  ForEvents(plan, &Rates::change_rate, [&](double day, const Rates& rates) {
    const bool told = random_.Uniform() < rates.recall;
    Change(page, day, told ? told_ : Told::kNo, told ? DrawDelay() : 0);
  });
  return page;
}

size_t WorldMaker::Add(const PagePlan& plan) {
  const size_t page = AddChanging(plan);
  ForEvents(plan, &Rates::false_rate,
            [&](double day, const Rates&) { FalseSignal(page, day, told_, DrawDelay()); });
  return page;
}

void WorldMaker::Change(size_t page, double day, Told told, double delay) {
  world_.pages[page].touches.push_back({.at = At(day),
                                        .changed = true,
                                        .signalled = told != Told::kNo,
                                        .dated = told != Told::kUndated,
                                        .delay = At(delay) - world_.begin});
}

void WorldMaker::FalseSignal(size_t page, double day, Told told, double delay) {
  world_.pages[page].touches.push_back({.at = At(day),
                                        .changed = false,
                                        .dated = told != Told::kUndated,
                                        .delay = At(delay) - world_.begin});
}

void WorldMaker::Burst(int site, double day, double changed_share) {
  for (const size_t page : PagesOf(site)) {
    if (random_.Uniform() < changed_share) {
      Change(page, day, Told::kYes);
    } else {
      FalseSignal(page, day);
    }
  }
  world_.bursts.push_back({.arrives = NextPoll(At(day), world_.signal_delay),
                           .host = world_.pages[PagesOf(site).front()].host,
                           .changed_share = changed_share});
}

World WorldMaker::Finish() && {
  std::vector<size_t> order(world_.pages.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) {
    return world_.pages[a].first_seen < world_.pages[b].first_seen;
  });
  std::vector<ReplayPage> pages;
  std::vector<std::vector<TrueRates>> truth;
  for (const size_t i : order) {
    ReplayPage& page = world_.pages[i];
    const Instant last = std::min(page.gone_at, world_.end);
    std::erase_if(page.touches, [&](const ReplayPage::Touch& touch) {
      return touch.at <= page.first_seen || touch.at > last;
    });
    std::stable_sort(
        page.touches.begin(), page.touches.end(),
        [](const ReplayPage::Touch& a, const ReplayPage::Touch& b) { return a.at < b.at; });
    pages.push_back(std::move(page));
    truth.push_back(std::move(world_.truth[i]));
  }
  world_.pages = std::move(pages);
  world_.truth = std::move(truth);
  std::stable_sort(world_.bursts.begin(), world_.bursts.end(),
                   [](const TrueBurst& a, const TrueBurst& b) { return a.arrives < b.arrives; });
  return std::move(world_);
}

}  // namespace freshet
