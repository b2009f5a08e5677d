#include "core/index/wake_calendar.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"

namespace freshet {
namespace {

// The clock is a sum of many terms. Each term is rounded so that it errs towards waking early; this
// covers the rounding of the sum.
constexpr double kRounding = 1e-15;
constexpr double kRelative = 1e-9;

}  // namespace

uint32_t WakeChunks::Take() {
  if (free_ != 0) {
    const uint32_t chunk = free_;
    free_ = chunks_[chunk].next;
    return chunk;
  }
  chunks_.GrowTo(size_t{used_} + 1);
  return used_++;
}

void WakeChunks::GiveBack(uint32_t chunk) {
  chunks_[chunk].next = free_;
  free_ = chunk;
}

WakeCalendar::WakeCalendar(double slow_low, double slow_high, double span, uint32_t buckets,
                           double now)
    : slow_low_(slow_low),
      slow_high_(slow_high),
      per_second_(buckets / span),
      start_(now),
      mask_(buckets - 1),
      buckets_(buckets) {
  CHECK((buckets & mask_) == 0 && slow_low <= slow_high && span > 0);
}

int64_t WakeCalendar::NumberAt(double at) const {
  const double number = std::floor((at - start_ + offset_) * per_second_);
  return static_cast<int64_t>(std::clamp(number, -4e18, 4e18));
}

double WakeCalendar::TimeOf(int64_t number) const {
  const double at = static_cast<double>(number) / per_second_ - offset_ + start_;
  return at - kRounding * (std::abs(at) + std::abs(offset_) + std::abs(start_));
}

bool WakeCalendar::worn() const { return std::abs(offset_) > 1e6 * slow_high_; }

void WakeCalendar::Push(WakeChunks& chunks, Bucket& bucket, WakeEntry entry) {
  const uint32_t place = bucket.count % WakeChunk::kCapacity;
  if (place == 0) {
    const uint32_t chunk = chunks.Take();
    chunks[chunk].next = bucket.chunk;
    bucket.chunk = chunk;
  }
  WakeChunk& chunk = chunks[bucket.chunk];
  chunk.pages[place] = entry.page.value();
  chunk.tags[place] = entry.tag;
  ++bucket.count;
}

bool WakeCalendar::File(WakeChunks& chunks, WakeEntry entry, double at, double now) {
  if (entries_ == 0) SkipTo(NumberAt(now));
  const int64_t number = NumberAt(at);
  if (number < next_) return false;
  const int64_t last = next_ + static_cast<int64_t>(mask_);
  Push(chunks, buckets_[static_cast<uint64_t>(std::min(number, last)) & mask_], entry);
  ++entries_;
  chunks.CountEntries(1);
  return true;
}

double WakeCalendar::Open(WakeChunks& chunks, double now, std::vector<WakeEntry>* due) {
  const int64_t current = NumberAt(now);
  if (entries_ == 0) SkipTo(current);
  if (next_ > current + 1) return std::numeric_limits<double>::infinity();
  // Buckets further back than the last round are this round's.
  next_ = std::max(next_, current - static_cast<int64_t>(mask_));
  Bucket& bucket = buckets_[static_cast<uint64_t>(next_) & mask_];
  const double due_at = TimeOf(next_);
  ++next_;
  uint32_t left = bucket.count;
  for (uint32_t chunk = bucket.chunk; left > 0;) {
    const WakeChunk& source = chunks[chunk];
    const uint32_t here = (left - 1) % WakeChunk::kCapacity + 1;
    for (uint32_t i = 0; i < here; ++i) {
      due->push_back({PageId(source.pages[i]), source.tags[i]});
    }
    left -= here;
    const uint32_t next = source.next;
    chunks.GiveBack(chunk);
    chunk = next;
  }
  entries_ -= bucket.count;
  chunks.CountEntries(-int64_t{bucket.count});
  bucket = Bucket();
  return due_at;
}

void WakeCalendar::ClaimFell(double d, double now) {
  const double shift = slow_high_ * d * (1 + kRelative);
  offset_ += shift;
  offset_ += kRounding * (std::abs(offset_) + std::abs(now));
}

void WakeCalendar::ClaimRose(double d, double now) {
  const double shift = slow_low_ * d * (1 - kRelative);
  offset_ -= shift;
  offset_ += kRounding * (std::abs(offset_) + std::abs(now));
  // What is filed from now on may come before what was opened already.
  next_ = std::min(next_, NumberAt(now) + 1);
}

}  // namespace freshet
