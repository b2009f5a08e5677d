#include "core/index/due_pages.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace freshet {

std::vector<WakeEntry>* DuePages::Room() {
  if (batches_.size() == size_) batches_.emplace_back();
  return &batches_[size_].entries;
}

void DuePages::Add(double by, double slow_high) {
  batches_[size_].by = by;
  batches_[size_].slow_high = slow_high;
  ++size_;
  FindFirst();
}

void DuePages::ThresholdFell(double d) {
  // Each `by` moves by as much as the clock of its wheel. Rounding makes it earlier, never later.
  constexpr double kMore = 1 + 2e-9;
  constexpr double kRounding = 1e-15;
  for (size_t i = 0; i < size_; ++i) {
    DueBatch& batch = batches_[i];
    batch.by -= batch.slow_high * d * kMore + kRounding * std::abs(batch.by);
  }
  FindFirst();
}

void DuePages::DropFirst() {
  DueBatch& first = batches_[first_];
  first.entries.clear();
  first.next = 0;
  first.fetched = 0;
  --size_;
  std::swap(first, batches_[size_]);
  FindFirst();
}

void DuePages::FindFirst() {
  const auto end = batches_.begin() + static_cast<std::ptrdiff_t>(size_);
  const auto earlier = [](const DueBatch& a, const DueBatch& b) { return a.by < b.by; };
  first_ = static_cast<size_t>(std::min_element(batches_.begin(), end, earlier) - batches_.begin());
}

}  // namespace freshet
