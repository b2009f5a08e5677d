// A timer wheel: sleeping pages, ordered by the earliest time at which they might have to wake.
// They wake when their value can reach the wake threshold (core/index/wake_threshold.h), which
// moves.
//
// All pages of one wheel climb at a similar pace: near the threshold, the value V of each page
// takes `slow_low` to `slow_high` seconds to grow by one unit of ln V (docs/index-proofs.md derives
// these). A wheel has its own clock C = t + offset. A page that reaches the threshold at time T at
// the earliest is filed at C(T). When ln(threshold) falls by d, the clock advances by slow_high d:
// no page reaches the lower threshold before the clock shows the time at which the page is filed.
// When ln(threshold) rises by d, the clock goes back by slow_low d. A moving threshold therefore
// refiles nothing.
//
// There are wide and narrow buckets. The entries of the next wide bucket have been spread into
// narrow buckets. So has a part of the entries of the wide bucket after it. A wheel with many pages
// can therefore wake them at the right time, and a wheel with few pages does not waste a chunk on
// each of many buckets.
#ifndef FRESHET_CORE_INDEX_WAKE_WHEEL_H_
#define FRESHET_CORE_INDEX_WAKE_WHEEL_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/index/wake_chunks.h"

namespace freshet {

// Bounds of V/(dV/dt) or V/(dV/ds). Value type, thread-compatible.
struct Slowness {
  double low = 0;   // at the crossing and above
  double high = 0;  // at the crossing and below
};

// Owner thread only. Times are seconds on the clock of the index.
//
// Invariant: Open hands out each entry no later than the clock shows the time at which the entry is
// filed. Open can hand out an entry earlier, because all times that are too far ahead share the
// last bucket.
class WakeWheel {
 public:
  // The wheel has `buckets` narrow buckets, which span `span` seconds. `buckets` must be a power of
  // two, and at least 2 kSteps.
  WakeWheel(double slow_low, double slow_high, double span, uint32_t buckets, double now);

  // When Open next has something to do if the threshold does not move: one bucket before the
  // entries are due.
  [[nodiscard]] double next_open() const { return next_open_; }
  // When the entries of that bucket are due.
  [[nodiscard]] double next_due() const { return next_due_; }
  // Files an entry. `at` is the earliest time at which the page must wake. False = this time has
  // already come, and nothing is filed.
  [[nodiscard]] bool File(WakeChunks& chunks, PageId page, uint8_t tag, double at, double now);
  // Appends the entries of a narrow bucket that is due at `now` or is the next one to become due.
  // Returns the time from which the entries can be due if the threshold does not fall; infinite =
  // there is no such bucket.
  [[nodiscard]] double Open(WakeChunks& chunks, double now, std::vector<WakeEntry>* due);
  // These move the clock after ln(threshold) fell or rose by d >= 0.
  void ThresholdFell(double d, double now);
  void ThresholdRose(double d, double now);
  // Takes the next wide bucket, round-robin, and drops the entries for which `keep(entry)` is
  // false. First calls fetch(page) for all entries of the bucket. `room` holds the entries during
  // the call.
  template <typename Fetch, typename Keep>
  void SweepNext(WakeChunks& chunks, std::vector<WakeEntry>* room, const Fetch& fetch,
                 const Keep& keep);

  [[nodiscard]] uint64_t entries() const { return entries_; }
  [[nodiscard]] double slow_high() const { return slow_high_; }
  // Returns true if the clock has moved so far that precision is lost. No more pages may be filed
  // in this wheel.
  [[nodiscard]] bool worn() const { return std::abs(offset_) > 1e6 * slow_high_; }

 private:
  // Narrow buckets per wide bucket.
  static constexpr int64_t kSteps = int64_t{WakeEntry::kSteps};
  // The wide bucket of a narrow one. Rounds down, also below zero.
  [[nodiscard]] static int64_t WideOf(int64_t number) { return number >> WakeEntry::kStepBits; }
  // The number of the narrow bucket that includes `at`.
  [[nodiscard]] int64_t NumberAt(double at) const;
  // When the narrow bucket `number` begins, or a little earlier.
  [[nodiscard]] double TimeOf(int64_t number) const;
  // Skips empty buckets: all buckets up to the one after `current` count as opened.
  void SkipTo(int64_t current);
  // Moves about `wanted` entries of the next wide bucket to its narrow buckets, or all if there are
  // fewer.
  void Spread(WakeChunks& chunks, uint32_t wanted);
  // Spreads a crowded bucket early, one part in each call of Open, because a pick that moves
  // thousands of entries at once is slow.
  void SpreadAhead(WakeChunks& chunks);
  void FindNextOpen();
  [[nodiscard]] WakeBucket& Narrow(int64_t number) {
    return buckets_[static_cast<size_t>(number & (2 * kSteps - 1))];
  }
  [[nodiscard]] WakeBucket& Wide(int64_t number) {
    return buckets_[static_cast<size_t>(2 * kSteps + (number & wide_mask_))];
  }
  void CountEntries(WakeChunks& chunks, int64_t change) {
    entries_ += static_cast<uint64_t>(change);
    chunks.CountEntries(change);
  }

  double slow_low_;
  double slow_high_;
  double per_second_;  // narrow buckets per second
  double width_;       // the width of a narrow bucket, in seconds
  double start_;       // the clock shows C = t - start + offset
  double offset_ = 0;
  double next_open_ = std::numeric_limits<double>::infinity();
  double next_due_ = std::numeric_limits<double>::infinity();
  int64_t next_ = 0;    // the first narrow bucket that has not been opened
  int64_t spread_ = 0;  // the first wide bucket that has not been spread
  int64_t wide_mask_;
  uint64_t entries_ = 0;
  uint32_t narrow_entries_ = 0;
  uint32_t swept_ = 0;
  std::vector<WakeBucket> buckets_;  // the narrow buckets of two wide ones, then the wide buckets
};

template <typename Fetch, typename Keep>
void WakeWheel::SweepNext(WakeChunks& chunks, std::vector<WakeEntry>* room, const Fetch& fetch,
                          const Keep& keep) {
  chunks.Flush();
  WakeBucket& bucket = Wide(swept_++);
  room->clear();
  const uint32_t swept = chunks.Empty(bucket, [&](const WakeEntry& entry) {
    fetch(entry.page);
    room->push_back(entry);
  });
  for (const WakeEntry& entry : *room) {
    if (keep(entry)) chunks.Push(bucket, entry);
  }
  CountEntries(chunks, int64_t{bucket.count} - int64_t{swept});
}

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_WAKE_WHEEL_H_
