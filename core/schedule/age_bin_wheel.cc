#include "core/schedule/age_bin_wheel.h"

#include "core/base/check.h"

namespace freshet {
namespace {

constexpr int64_t kBucketsPerDay = 64;
// Void entries are tolerated up to the number of valid ones plus this many.
constexpr size_t kMostVoid = 4096;

}  // namespace

AgeBinWheel::AgeBinWheel(Duration day) : width_(Duration::Micros(day.micros() / kBucketsPerDay)) {
  CHECK(width_ > Duration(), "a day of {} us", day.micros());
}

void AgeBinWheel::Set(PageId page, Instant edge) {
  if (page.value() >= tags_.size()) tags_.GrowTo(page.value() + size_t{1});
  uint16_t& tag = tags_[page.value()];
  if (edge.infinite()) {
    edges_ -= tag == 0 ? 0 : 1;
    tag = 0;
    return;
  }
  const Bucket bucket = edge.micros() / width_.micros() + 1;
  if (tag == TagOf(bucket)) return;
  edges_ += tag == 0 ? 1 : 0;
  tag = TagOf(bucket);
  const auto [it, created] = buckets_.try_emplace(bucket);
  if (created) order_.push(bucket);
  it->second.push_back(page.value());
  ++entries_;
  Sweep();
}

void AgeBinWheel::Sweep() {
  DCHECK(edges_ <= entries_);
  if (!sweep_.empty()) {
    // The bucket might have become due and been removed since the sweep began.
    const auto found = buckets_.find(sweep_.back());
    if (found != buckets_.end()) DropVoid(found->first, found->second);
    sweep_.pop_back();
  } else if (entries_ > 2 * edges_ + kMostVoid) {
    for (const auto& [bucket, entries] : buckets_) sweep_.push_back(bucket);
  }
}

void AgeBinWheel::DropVoid(Bucket bucket, std::vector<uint32_t>& entries) {
  const uint16_t tag = TagOf(bucket);
  size_t kept = 0;
  for (const uint32_t page : entries) {
    if (tags_[page] != tag) continue;
    // Clears the tag for now, so that another entry of the same page is dropped as a duplicate.
    tags_[page] = 0;
    entries[kept++] = page;
  }
  DCHECK(kept <= edges_);
  entries_ -= entries.size() - kept;
  entries.resize(kept);
  entries.shrink_to_fit();
  for (const uint32_t page : entries) tags_[page] = tag;
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
      --entries_;
      if (tags_[page] != TagOf(bucket)) continue;
      tags_[page] = 0;
      --edges_;
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
