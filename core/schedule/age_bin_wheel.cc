#include "core/schedule/age_bin_wheel.h"

#include "core/base/check.h"

namespace freshet {
namespace {

constexpr int64_t kBucketsPerDay = 64;

}  // namespace

AgeBinWheel::AgeBinWheel(Duration day) : width_(Duration::Micros(day.micros() / kBucketsPerDay)) {
  CHECK(width_ > Duration(), "a day of {} us", day.micros());
}

void AgeBinWheel::Set(PageId page, Instant edge) {
  if (page.value() >= tags_.size()) tags_.GrowTo(page.value() + size_t{1});
  uint16_t& tag = tags_[page.value()];
  if (edge.infinite()) {
    tag = 0;
    return;
  }
  const Bucket bucket = edge.micros() / width_.micros() + 1;
  if (tag == TagOf(bucket)) return;
  tag = TagOf(bucket);
  const auto [it, created] = buckets_.try_emplace(bucket);
  if (created) order_.push(bucket);
  it->second.push_back(page.value());
}

void AgeBinWheel::TakeDue(Instant now, size_t max, std::vector<PageId>* pages) {
  while (max > 0 && next() <= now) {
    const Bucket bucket = order_.top();
    const auto found = buckets_.find(bucket);
    CHECK(found != buckets_.end(), "bucket {} is gone", bucket);
    std::vector<uint32_t>& entries = found->second;
    while (!entries.empty() && max > 0) {
      const uint32_t page = entries.back();
      entries.pop_back();
      if (tags_[page] != TagOf(bucket)) continue;
      tags_[page] = 0;
      pages->push_back(PageId(page));
      --max;
    }
    if (!entries.empty()) return;
    buckets_.erase(found);
    order_.pop();
  }
}

Instant AgeBinWheel::next() const {
  if (order_.empty()) return Instant::Infinite();
  return Instant::FromMicros(order_.top() * width_.micros());
}

}  // namespace freshet
