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

void WakeChunks::Push(WakeBucket& bucket, WakeEntry entry) {
  const uint32_t place = bucket.count % WakeChunk::kCapacity;
  if (place == 0) {
    const uint32_t chunk = Take();
    chunks_[chunk].next = bucket.chunk;
    bucket.chunk = chunk;
  }
  WakeChunk& chunk = chunks_[bucket.chunk];
  chunk.pages[place] = entry.page.value();
  chunk.tags[place] = entry.tag;
  ++bucket.count;
}

void WakeChunks::PushLater(WakeBucket& bucket, WakeEntry entry) {
  __builtin_prefetch(&bucket, 1);
  Pending& oldest = pending_[pending_end_ % pending_.size()];
  if (pending_size_ == pending_.size()) {
    Push(*oldest.bucket, oldest.entry);
  } else {
    ++pending_size_;
  }
  oldest = {&bucket, entry};
  ++pending_end_;
  const Pending& fetched = pending_[(pending_end_ + kStage) % pending_.size()];
  if (fetched.bucket != nullptr && fetched.bucket->chunk != 0)
    __builtin_prefetch(&chunks_[fetched.bucket->chunk], 1);
}

void WakeChunks::Flush() {
  for (; pending_size_ > 0; --pending_size_) {
    const Pending& oldest = pending_[(pending_end_ - pending_size_) % pending_.size()];
    Push(*oldest.bucket, oldest.entry);
  }
  pending_.fill({});
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
  const double number = std::clamp((at - start_ + offset_) * per_second_, -4e18, 4e18);
  // As std::floor, which is a call on processors without SSE 4.1.
  const auto whole = static_cast<int64_t>(number);
  return whole - (static_cast<double>(whole) > number ? 1 : 0);
}

double WakeCalendar::TimeOf(int64_t number) const {
  const double at = static_cast<double>(number) / per_second_ - offset_ + start_;
  return at - kRounding * (std::abs(at) + std::abs(offset_) + std::abs(start_));
}

bool WakeCalendar::File(WakeChunks& chunks, WakeEntry entry, double at, double now) {
  if (entries_ == 0) SkipTo(NumberAt(now));
  const int64_t number = NumberAt(at);
  if (number < next_) return false;
  const int64_t last = next_ + static_cast<int64_t>(mask_);
  chunks.PushLater(buckets_[static_cast<uint64_t>(std::min(number, last)) & mask_], entry);
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
  chunks.Flush();
  WakeBucket& bucket = buckets_[static_cast<uint64_t>(next_) & mask_];
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
  bucket = WakeBucket();
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
