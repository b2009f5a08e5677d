#include "lab/methods/low_discrepancy.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "core/base/check.h"

namespace freshet {

StatusOr<LowDiscrepancySchedule> LowDiscrepancySchedule::Create(std::span<const double> rates,
                                                                double crawl_rate) {
  RETURN_IF_ERROR(Validate(rates, crawl_rate));
  LowDiscrepancySchedule schedule;
  schedule.pages_.resize(rates.size());
  for (size_t i = 0; i < rates.size(); ++i) {
    schedule.pages_[i].interval = rates[i] > 0 ? crawl_rate / rates[i] : 0;
  }
  schedule.Fill();
  return schedule;
}

std::optional<size_t> LowDiscrepancySchedule::Next() {
  ++slots_;
  const auto now = static_cast<double>(slots_);
  while (!waiting_.empty() && waiting_.front().time < now) {
    const uint32_t page = waiting_.front().page;
    std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
    waiting_.pop_back();
    ready_.push_back({pages_[page].due(), page});
    std::push_heap(ready_.begin(), ready_.end(), std::greater<>());
  }
  if (ready_.empty()) return std::nullopt;
  const uint32_t page = ready_.front().page;
  std::pop_heap(ready_.begin(), ready_.end(), std::greater<>());
  ready_.pop_back();
  ++pages_[page].job;
  waiting_.push_back({pages_[page].release(), page});
  std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
  return page;
}

Status LowDiscrepancySchedule::Replan(std::span<const double> rates, double crawl_rate) {
  RETURN_IF_ERROR(Validate(rates, crawl_rate));
  if (rates.size() != pages_.size()) {
    return InvalidArgument("rates: {} for {} pages", rates.size(), pages_.size());
  }
  const auto now = static_cast<double>(slots_);
  for (size_t i = 0; i < rates.size(); ++i) {
    Page& page = pages_[i];
    const double progress = page.interval > 0 ? (now - page.release()) / page.interval : 0;
    page.interval = rates[i] > 0 ? crawl_rate / rates[i] : 0;
    page.origin = now - progress * page.interval;
    page.job = 1;
  }
  Fill();
  return {};
}

Status LowDiscrepancySchedule::Validate(std::span<const double> rates, double crawl_rate) {
  if (!(crawl_rate > 0) || !std::isfinite(crawl_rate)) {
    return InvalidArgument("crawl rate: {} is not a finite rate above 0", crawl_rate);
  }
  constexpr size_t kMost = std::numeric_limits<uint32_t>::max() - size_t{1};
  if (rates.size() > kMost) {
    return InvalidArgument("rates: {} pages are too many: at most {} are allowed", rates.size(),
                           kMost);
  }
  double total = 0;
  for (size_t i = 0; i < rates.size(); ++i) {
    if (!(rates[i] >= 0) || !std::isfinite(rates[i])) {
      return InvalidArgument("rates: {} of page {} is not a finite rate of at least 0", rates[i],
                             i);
    }
    total += rates[i];
  }
  if (total > crawl_rate * (1 + 1e-9)) {
    return InvalidArgument("rates: their sum {} is above the crawl rate {}", total, crawl_rate);
  }
  return {};
}

void LowDiscrepancySchedule::Fill() {
  ready_.clear();
  waiting_.clear();
  for (size_t i = 0; i < pages_.size(); ++i) {
    if (pages_[i].interval == 0) continue;
    waiting_.push_back({pages_[i].release(), static_cast<uint32_t>(i)});
  }
  std::make_heap(waiting_.begin(), waiting_.end(), std::greater<>());
}

}  // namespace freshet
