#include "core/estimate/rate_samples.h"

#include <algorithm>

#include "core/base/random.h"

namespace freshet {

void RateSamples::Keep(const Kept& sample) {
  if (kept_.size() == max_) {
    if (max_ == 0 || sample.hash >= kept_.front().hash) return;
    std::pop_heap(kept_.begin(), kept_.end(), Before);
    kept_.pop_back();
  }
  kept_.push_back(sample);
  std::push_heap(kept_.begin(), kept_.end(), Before);
}

void RateSamples::Add(PageNumber page, const RateSample& sample) {
  // The first number of a generator is a bijection of its seed, so no two pages have the same hash.
  Keep({.hash = Random(page.value()).Next(),
        .changes = static_cast<float>(sample.changes),
        .exposure = static_cast<float>(sample.exposure)});
}

void RateSamples::Add(const RateSamples& other) {
  for (const Kept& sample : other.kept_) Keep(sample);
}

std::vector<RateSample> RateSamples::Values() const {
  std::vector<Kept> sorted = kept_;
  std::sort(sorted.begin(), sorted.end(), Before);
  std::vector<RateSample> values;
  values.reserve(sorted.size());
  for (const Kept& sample : sorted) {
    values.push_back({.changes = sample.changes, .exposure = sample.exposure});
  }
  return values;
}

}  // namespace freshet
