#include "core/estimate/bursts.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/limits.h"

namespace freshet {
namespace {

// The pages of a burst are weighed anew once its weight has moved by this share: each crawl of a
// large burst moves it less than the one before, so that this happens some ten times, not once a
// crawl.
constexpr double kNotable = 0.2;
// No burst is taken for certain: its pages would all seem stale for sure and equally urgent.
constexpr double kMaxPrecision = 0.999;

double WeightOf(double precision) { return -std::log1p(-std::min(precision, kMaxPrecision)); }

}  // namespace

Bursts::Burst& Bursts::Start(uint32_t number, double precision) {
  CHECK(precision > 0 && precision < 1, "precision {}", precision);
  Burst& burst = bursts_[number];
  burst.prior = precision;
  burst.weighed = WeightOf(precision);
  return burst;
}

void Bursts::AddPage(Burst& burst, PageNumber page) {
  burst.pages.push_back(page);
  ++pages_;
}

uint32_t Bursts::Join(uint64_t poll, double class_precision, PageNumber page) {
  CHECK(poll > 0);
  const auto [it, started] = by_poll_.try_emplace(poll, 0);
  if (started) {
    do {
      ++last_;  // wraps after four billion polls
    } while (last_ == 0 || bursts_.contains(last_));
    it->second = last_;
    Start(last_, class_precision);
    ages_.push_back({last_, poll});
  }
  const uint32_t number = it->second;
  AddPage(bursts_.at(number), page);
  Shrink();
  return number;
}

void Bursts::Restore(uint32_t burst, double weight, PageNumber page) {
  if (burst == 0) return;
  last_ = std::max(last_, burst);
  const auto found = bursts_.find(burst);
  if (found != bursts_.end()) {
    AddPage(found->second, page);
  } else {
    // What was learned of it so far becomes its prior.
    const double precision = -std::expm1(-weight);
    AddPage(Start(burst, std::clamp(precision, 1e-9, kMaxPrecision)), page);
    ages_.push_back({burst, 0});
  }
  Shrink();
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

double Bursts::Weight(uint32_t burst) const {
  const Burst& b = bursts_.at(burst);
  return WeightOf((b.truth + kBurstConcentration * b.prior) / (b.crawled + kBurstConcentration));
}

void Bursts::Observe(uint32_t burst, double truth) {
  CHECK(truth >= 0 && truth <= 1, "truth {}", truth);
  const auto found = bursts_.find(burst);
  if (found == bursts_.end()) return;
  Burst& b = found->second;
  b.crawled += 1;
  b.truth += truth;
  if (b.queued || std::abs(Weight(burst) - b.weighed) < kNotable * b.weighed) return;
  b.queued = true;
  reweighed_.push_back(burst);
}

void Bursts::TakeReweighed(size_t max, std::vector<PageNumber>* pages) {
  while (!reweighed_.empty() && max > 0) {
    const auto found = bursts_.find(reweighed_.front());
    if (found != bursts_.end()) {
      Burst& b = found->second;
      if (done_ == 0) b.weighed = Weight(reweighed_.front());
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
