#include "core/estimate/bursts.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/limits.h"

namespace freshet {
namespace {

// The pages of a burst are weighed anew once the odds of its signals have moved by this factor:
// each crawl of a large burst moves them less than the one before, so that this happens some ten
// times, not once a crawl.
constexpr double kNotable = 0.2;
// No page is taken for certain before it was crawled.
constexpr double kLeastDoubt = 1e-3;

// The maximum over b of truth ln p + (crawled - truth) ln(1 - p) - (b - start)^2/(2 s^2), p the
// logistic function of logit + b. Newton, whose steps are limited; the function is concave.
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
  burst.pages.push_back(page);
  ++pages_;
}

uint32_t Bursts::Join(uint64_t poll, PageNumber page) {
  CHECK(poll > 0);
  const auto [it, started] = by_poll_.try_emplace(poll, 0);
  if (started) {
    do {
      ++last_;  // wraps after four billion polls
    } while (last_ == 0 || bursts_.contains(last_));
    it->second = last_;
    bursts_[last_] = Burst();
    ages_.push_back({last_, poll});
  }
  const uint32_t number = it->second;
  AddPage(bursts_.at(number), page);
  Shrink();
  return number;
}

void Bursts::Restore(uint32_t burst, double shift, PageNumber page) {
  if (burst == 0) return;
  last_ = std::max(last_, burst);
  const auto [found, started] = bursts_.try_emplace(burst);
  Burst& its = found->second;
  // What was learned of it so far becomes its prior.
  its.start = its.shift = its.weighed = shift;
  if (started) ages_.push_back({burst, 0});
  if (!its.restored.insert(page).second) return;
  AddPage(its, page);
  Shrink();
}

void Bursts::FinishRestoring() {
  for (auto& [number, burst] : bursts_) burst.restored = {};
}

void Bursts::Shrink() {
  // The newest stays, however large.
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

void Bursts::Observe(uint32_t burst, double precision, double truth) {
  CHECK(precision >= 0 && precision <= 1 && truth >= 0 && truth <= 1, "{}, {}", precision, truth);
  const auto found = bursts_.find(burst);
  if (found == bursts_.end()) return;
  Burst& b = found->second;
  b.crawled += 1;
  b.precision += std::clamp(precision, kLeastDoubt, 1 - kLeastDoubt);
  b.truth += truth;
  const double mean = b.precision / b.crawled;
  b.shift = BestShift(b.crawled, b.truth, std::log(mean / (1 - mean)), b.start);
  if (b.queued || std::abs(b.shift - b.weighed) < kNotable) return;
  b.queued = true;
  reweighed_.push_back(burst);
}

void Bursts::TakeReweighed(size_t max, std::vector<PageNumber>* pages) {
  while (!reweighed_.empty() && max > 0) {
    const auto found = bursts_.find(reweighed_.front());
    if (found != bursts_.end()) {
      Burst& b = found->second;
      if (done_ == 0) b.weighed = b.shift;
      const size_t take = std::min(max, b.pages.size() - std::min(done_, b.pages.size()));
      const auto from = b.pages.begin() + static_cast<std::ptrdiff_t>(done_);
      pages->insert(pages->end(), from, from + static_cast<std::ptrdiff_t>(take));
      done_ += take;
      max -= take;
      if (done_ < b.pages.size()) return;
      b.queued = false;
    }
    reweighed_.pop_front();
    done_ = 0;
  }
}

}  // namespace freshet
