#include "core/estimate/bursts.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/limits.h"

namespace freshet {
namespace {

// The pages of a burst are re-estimated once the logarithm of its odds has moved by this much. In a
// large burst, each crawl moves the odds less than the previous one, so the pages are re-estimated
// about ten times, not once per crawl.
constexpr double kNotable = 0.2;
// The probability that a signal stands for a change is kept this far from 0 and from 1, because
// nothing is certain before the crawl.
constexpr double kLeastDoubt = 1e-3;

// Returns the b that maximises truth ln p + (crawled - truth) ln(1 - p) - (b - start)^2/(2 s^2),
// where p is the logistic function of logit + b. The function is concave. Uses Newton's method with
// limited steps.
double BestShift(double crawled, double truth, double logit, double start) {
  constexpr double kInverseVariance = 1 / (kBurstDeviation * kBurstDeviation);
  double shift = start;
  for (int i = 0; i < 50; ++i) {
    const double p = 1 / (1 + std::exp(-(logit + shift)));
    const double slope = truth - crawled * p - (shift - start) * kInverseVariance;
    const double curve = crawled * p * (1 - p) + kInverseVariance;
    const double step = std::clamp(slope / curve, -1.0, 1.0);
    shift += step;
    if (std::abs(step) < 1e-6) break;
  }
  return shift;
}

}  // namespace

void Bursts::AddPage(Burst& burst, PageNumber page) {
  if (burst.pages.size() >= limits::kMaxBurstPages) return;
  pages_ += burst.pages.insert(page).second ? 1 : 0;
}

const Bursts::Odds* Bursts::Find(uint32_t burst, const Staged& staged) const {
  if (const auto it = staged.odds_.find(burst); it != staged.odds_.end()) return &it->second;
  const auto it = bursts_.find(burst);
  return it == bursts_.end() ? nullptr : &it->second.odds;
}

uint32_t Bursts::Join(uint64_t poll, PageNumber page, Staged& staged) const {
  CHECK(poll > 0);
  uint32_t number = 0;
  if (const auto known = by_poll_.find(poll); known != by_poll_.end()) {
    number = known->second;
  } else if (const auto [it, started] = staged.by_poll_.try_emplace(poll); !started) {
    number = it->second;
  } else {
    number = staged.last_ == 0 ? last_ : staged.last_;
    do {
      ++number;  // wraps after four billion polls
    } while (number == 0 || Knows(number, staged));
    it->second = staged.last_ = number;
    staged.odds_.try_emplace(number);
    staged.started_.push_back({number, poll});
  }
  staged.joined_.emplace_back(number, page);
  return number;
}

void Bursts::Install(const Staged& staged) {
  if (staged.last_ != 0) last_ = staged.last_;
  for (const Age& age : staged.started_) {
    by_poll_[age.poll] = age.number;
    bursts_[age.number] = Burst();
    ages_.push_back(age);
  }
  for (const auto& [number, page] : staged.joined_) AddPage(bursts_.at(number), page);
  for (const auto& [number, odds] : staged.odds_) bursts_.at(number).odds = odds;
  reweighed_.insert(reweighed_.end(), staged.reweighed_.begin(), staged.reweighed_.end());
  Shrink();
}

void Bursts::Restore(uint32_t burst, double shift, PageNumber page) {
  if (burst == 0) return;
  last_ = std::max(last_, burst);
  const auto [found, started] = bursts_.try_emplace(burst);
  Burst& its = found->second;
  // The shift learned so far becomes the prior of the burst.
  its.odds.start = its.odds.shift = its.odds.weighed = shift;
  if (started) ages_.push_back({burst, 0});
  AddPage(its, page);
  Shrink();
}

void Bursts::Shrink() {
  // The newest burst is never forgotten.
  while (ages_.size() > 1 &&
         (ages_.size() > limits::kMaxBursts || pages_ > limits::kMaxBurstPages)) {
    const Age oldest = ages_.front();
    ages_.pop_front();
    if (oldest.poll != 0) by_poll_.erase(oldest.poll);
    const auto found = bursts_.find(oldest.number);
    pages_ -= found->second.pages.size();
    bursts_.erase(found);
  }
}

void Bursts::Observe(uint32_t burst, double precision, double truth, Staged& staged) const {
  CHECK(precision >= 0 && precision <= 1 && truth >= 0 && truth <= 1, "{}, {}", precision, truth);
  const Odds* known = Find(burst, staged);
  if (known == nullptr) return;
  Odds odds = *known;
  odds.crawled += 1;
  odds.precision += std::clamp(precision, kLeastDoubt, 1 - kLeastDoubt);
  odds.truth += truth;
  const double mean = odds.precision / odds.crawled;
  odds.shift = BestShift(odds.crawled, odds.truth, std::log(mean / (1 - mean)), odds.start);
  if (!odds.queued && std::abs(odds.shift - odds.weighed) >= kNotable) {
    odds.queued = true;
    staged.reweighed_.push_back(burst);
  }
  staged.odds_[burst] = odds;
}

void Bursts::TakeReweighed(size_t max, std::vector<PageNumber>* pages) {
  while (!reweighed_.empty() && max > 0) {
    const auto found = bursts_.find(reweighed_.front());
    if (found != bursts_.end()) {
      Burst& b = found->second;
      if (done_ == PageNumber()) b.odds.weighed = b.odds.shift;
      auto page = b.pages.upper_bound(done_);
      for (; page != b.pages.end() && max > 0; ++page, --max) {
        pages->push_back(*page);
        done_ = *page;
      }
      if (page != b.pages.end()) return;
      b.odds.queued = false;
    }
    reweighed_.pop_front();
    done_ = PageNumber();
  }
}

}  // namespace freshet
