// Sleeping pages in the order in which they may have to wake, under a claim that moves.
//
// All pages of one calendar climb alike: near the claim, the value V of each needs at least
// `slow_low` and at most `slow_high` seconds to grow by one unit of ln V (docs/index.md says where
// these come from). A calendar has a clock of its own, C = t + offset, and a page that reaches the
// claim no sooner than T is filed at C(T). When ln(claim) falls by d, the clock is put forward by
// slow_high d: no page reaches the lower claim before the clock shows the time it is filed at. When
// it rises by d, the clock is put back by slow_low d. So a moving claim files nothing anew.
#ifndef FRESHET_CORE_INDEX_WAKE_CALENDAR_H_
#define FRESHET_CORE_INDEX_WAKE_CALENDAR_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/segmented_array.h"
#include "core/base/units.h"

namespace freshet {

// One line of the cache of page ids with a tag each, which tells entries that count from older ones
// of the same page. Value type, thread-compatible.
struct WakeChunk {
  static constexpr uint32_t kCapacity = 12;
  uint32_t next = 0;
  uint32_t pages[kCapacity];
  uint8_t tags[kCapacity];
};
static_assert(sizeof(WakeChunk) == 64);

struct WakeEntry {
  PageId page;
  uint8_t tag = 0;
};

// Entries in a chain of chunks, of which the first is not full. Value type, thread-compatible.
struct WakeBucket {
  uint32_t chunk = 0;
  uint32_t count = 0;
};

// Owner thread only. Chunks of all calendars of an index; number 0 is none.
//
// An entry is put off until some more have come, and its bucket and chunk are fetched to the cache
// meanwhile: a random access takes longer than all else of filing a page.
class WakeChunks {
 public:
  [[nodiscard]] WakeChunk& operator[](uint32_t i) { return chunks_[i]; }
  void GiveBack(uint32_t chunk);
  // Puts an entry into a bucket, which stays where it is until Flush.
  void Push(WakeBucket& bucket, WakeEntry entry);
  void PushLater(WakeBucket& bucket, WakeEntry entry);
  // Puts all that were put off. Before any bucket is looked at.
  void Flush();

  // Of all calendars.
  [[nodiscard]] uint64_t entries() const { return entries_; }
  void CountEntries(int64_t change) { entries_ += static_cast<uint64_t>(change); }

 private:
  struct Pending {
    WakeBucket* bucket = nullptr;
    WakeEntry entry;
  };
  static constexpr size_t kStage = 4;
  [[nodiscard]] uint32_t Take();

  SegmentedArray<WakeChunk> chunks_;
  std::array<Pending, 2 * kStage> pending_;  // a ring, up to pending_end_
  size_t pending_end_ = 0;
  size_t pending_size_ = 0;
  uint64_t entries_ = 0;
  uint32_t used_ = 1;
  uint32_t free_ = 0;
};

// Bounds of V/(dV/dt) or V/(dV/ds). Value type, thread-compatible.
struct Slowness {
  double low = 0;   // at the crossing and above
  double high = 0;  // at the crossing and below
};

// Owner thread only. Times are seconds on the clock of the index.
//
// Invariant: an entry is taken out by Open no later than the clock shows the time it was filed at.
// It may be taken out sooner: times share buckets, and those too far ahead share the last one.
class WakeCalendar {
 public:
  // `buckets` is a power of two; together they span `span` seconds.
  WakeCalendar(double slow_low, double slow_high, double span, uint32_t buckets, double now);

  // When Open has something to do next if the claim stays: one bucket before its entries are due.
  [[nodiscard]] double next_open() const {
    return entries_ == 0 ? std::numeric_limits<double>::infinity() : TimeOf(next_ - 1);
  }
  // False: the time has come already, nothing is filed.
  [[nodiscard]] bool File(WakeChunks& chunks, WakeEntry entry, double at, double now);
  // Appends the entries of a bucket that is due at `now`, or the next to be. The time from which
  // they may be due if the claim does not fall; infinite: there is no such bucket.
  [[nodiscard]] double Open(WakeChunks& chunks, double now, std::vector<WakeEntry>* due);
  // ln(claim) has moved by d >= 0.
  void ClaimFell(double d, double now);
  void ClaimRose(double d, double now);
  // Keeps of the next bucket in turn what `keep` says; returns how many entries it dropped.
  template <typename Keep>
  uint32_t SweepNext(WakeChunks& chunks, const Keep& keep);

  [[nodiscard]] uint64_t entries() const { return entries_; }
  // Precision is lost when the clock has been moved very far; such a calendar is to be drained.
  [[nodiscard]] bool worn() const { return std::abs(offset_) > 1e6 * slow_high_; }

 private:
  [[nodiscard]] int64_t NumberAt(double at) const;
  // Buckets up to the one after `current` count as opened; those that are empty cost nothing.
  void SkipTo(int64_t current) { next_ = std::max(next_, current + 2); }
  // When bucket `number` begins, or a little earlier.
  [[nodiscard]] double TimeOf(int64_t number) const;

  double slow_low_;
  double slow_high_;
  double per_second_;  // buckets
  double start_;       // the clock shows C = t - start + offset
  double offset_ = 0;
  int64_t next_ = 0;  // the first bucket that has not been opened
  uint64_t entries_ = 0;
  uint32_t swept_ = 0;
  uint32_t mask_;
  std::vector<WakeBucket> buckets_;
};

template <typename Keep>
uint32_t WakeCalendar::SweepNext(WakeChunks& chunks, const Keep& keep) {
  chunks.Flush();
  WakeBucket& bucket = buckets_[swept_++ & mask_];
  const WakeBucket old = bucket;
  bucket = WakeBucket();
  uint32_t dropped = 0;
  uint32_t left = old.count;
  for (uint32_t chunk = old.chunk; left > 0;) {
    const WakeChunk copy = chunks[chunk];
    const uint32_t here = (left - 1) % WakeChunk::kCapacity + 1;
    chunks.GiveBack(chunk);
    for (uint32_t i = 0; i < here; ++i) {
      const WakeEntry entry{PageId(copy.pages[i]), copy.tags[i]};
      if (keep(entry)) {
        chunks.Push(bucket, entry);
      } else {
        ++dropped;
      }
    }
    left -= here;
    chunk = copy.next;
  }
  entries_ -= dropped;
  chunks.CountEntries(-int64_t{dropped});
  return dropped;
}

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_WAKE_CALENDAR_H_
