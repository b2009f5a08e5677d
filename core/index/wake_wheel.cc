#include "core/index/wake_wheel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "core/base/check.h"

namespace freshet {
namespace {

// The offset of the clock is a sum of many terms. kRelative changes each term in the direction that
// wakes pages early. kRounding covers the rounding error of the sum.
constexpr double kRounding = 1e-15;
constexpr double kRelative = 1e-9;
// SpreadAhead moves at least this many entries in one call.
constexpr uint32_t kPiece = 288;

}  // namespace

WakeWheel::WakeWheel(double slow_low, double slow_high, double span, uint32_t buckets, double now)
    : slow_low_(slow_low),
      slow_high_(slow_high),
      per_second_(buckets / span),
      width_(span / buckets),
      start_(now),
      wide_mask_(int64_t{buckets} / kSteps - 1),
      buckets_(static_cast<size_t>(2 * kSteps + wide_mask_ + 1)) {
  CHECK((buckets & (buckets - 1)) == 0 && wide_mask_ > 0);
  CHECK(slow_low <= slow_high && span > 0);
}

int64_t WakeWheel::NumberAt(double at) const {
  const double number = std::clamp((at - start_ + offset_) * per_second_, -1e18, 1e18);
  // Rounds like std::floor, which is a function call on processors without SSE 4.1.
  const auto whole = static_cast<int64_t>(number);
  return whole - (static_cast<double>(whole) > number ? 1 : 0);
}

double WakeWheel::TimeOf(int64_t number) const {
  const double at = static_cast<double>(number) * width_ - offset_ + start_;
  return at - kRounding * (std::abs(at) + std::abs(offset_) + std::abs(start_));
}

void WakeWheel::FindNextOpen() {
  if (entries_ == 0) {
    next_open_ = std::numeric_limits<double>::infinity();
    next_due_ = next_open_;
  } else {
    const int64_t first = narrow_entries_ == 0 ? std::max(next_, spread_ * kSteps) : next_;
    next_open_ = TimeOf(first - 1);
    next_due_ = TimeOf(first);
  }
}

void WakeWheel::SkipTo(int64_t current) {
  next_ = std::max(next_, current + 2);
  spread_ = std::max(spread_, WideOf(next_));
}

bool WakeWheel::File(WakeChunks& chunks, PageId page, uint8_t tag, double at, double now) {
  bool first = entries_ == 0;
  if (first) SkipTo(NumberAt(now));
  const int64_t number = NumberAt(at);
  if (number < next_) return false;
  if (number < spread_ * kSteps) {
    // If the number is beyond the narrow buckets that can be used now, the entry goes to the last
    // of them and is handed out early.
    chunks.PushLater(Narrow(std::min(number, next_ + kSteps - 1)), {page, tag});
    first |= narrow_entries_++ == 0;
  } else {
    const int64_t last = spread_ + wide_mask_;
    const int64_t wide = std::min(WideOf(number), last);
    const int64_t step = wide < WideOf(number) ? 0 : number & (kSteps - 1);
    chunks.PushLater(Wide(wide), {page, static_cast<uint8_t>(tag + 8 * step)});
  }
  CountEntries(chunks, 1);
  if (first) FindNextOpen();
  return true;
}

void WakeWheel::Spread(WakeChunks& chunks, uint32_t wanted) {
  const std::span<WakeBucket, kSteps> narrow(&Narrow(spread_ * kSteps), kSteps);
  narrow_entries_ += chunks.Spread(Wide(spread_), wanted, narrow);
}

void WakeWheel::SpreadAhead(WakeChunks& chunks) {
  const uint32_t count = Wide(spread_).count;
  if (count <= kPiece) return;
  const int64_t left = std::max<int64_t>(spread_ * kSteps - next_, 1);
  Spread(chunks, std::max(kPiece, static_cast<uint32_t>(count / left)));
  chunks.Prefetch(Wide(spread_));
}

double WakeWheel::Open(WakeChunks& chunks, double now, std::vector<WakeEntry>* due) {
  const int64_t current = NumberAt(now);
  chunks.Flush();
  uint32_t opened = 0;
  const int64_t spread_before = spread_;
  double due_at = std::numeric_limits<double>::infinity();
  while (opened == 0 && entries_ > 0 && next_ <= current + 1) {
    if (narrow_entries_ == 0) {
      // If more than one round of wide buckets has passed, spreading the last round suffices,
      // because earlier rounds used the same buckets. All entries in them are in the past.
      spread_ = std::max(spread_, WideOf(current) - wide_mask_ - 1);
      next_ = std::max(next_, std::min(spread_ * kSteps, current + 2));
      if (next_ > current + 1) break;
    }
    if (next_ >= spread_ * kSteps) {
      Spread(chunks, Wide(spread_).count);
      ++spread_;
    }
    due_at = TimeOf(next_);
    opened =
        chunks.Empty(Narrow(next_++), [due](const WakeEntry& entry) { due->push_back(entry); });
    narrow_entries_ -= opened;
  }
  CountEntries(chunks, -int64_t{opened});
  // One call never spreads both the rest of one bucket and a part of the next.
  if (spread_ == spread_before) SpreadAhead(chunks);
  chunks.Prefetch(next_ < spread_ * kSteps ? Narrow(next_) : Wide(spread_));
  FindNextOpen();
  return opened > 0 ? due_at : std::numeric_limits<double>::infinity();
}

void WakeWheel::ThresholdFell(double d, double now) {
  const double shift = slow_high_ * d * (1 + kRelative);
  offset_ += shift;
  offset_ += kRounding * (std::abs(offset_) + std::abs(now));
  FindNextOpen();
}

void WakeWheel::ThresholdRose(double d, double now) {
  const double shift = slow_low_ * d * (1 - kRelative);
  offset_ -= shift;
  offset_ += kRounding * (std::abs(offset_) + std::abs(now));
  // Entries that are filed from now on can be due before buckets that have already been opened.
  next_ = std::min(next_, NumberAt(now) + 1);
  // If later wide buckets have been spread, fully or in part, the entries that were moved are
  // handed out early, once.
  spread_ = std::min(spread_, WideOf(next_) + 1);
  FindNextOpen();
}

}  // namespace freshet
