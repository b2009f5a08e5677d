// Sets of the pages that sleep in a wheel (core/index/wake_wheel.h), stored in chunks of one cache
// line.
#ifndef FRESHET_CORE_INDEX_WAKE_CHUNKS_H_
#define FRESHET_CORE_INDEX_WAKE_CHUNKS_H_

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "core/base/segmented_array.h"
#include "core/base/units.h"

namespace freshet {

// The entry of a sleeping page in a wheel. The 3-bit tag tells the valid entry of a page from older
// ones. The 5-bit step is the number of the narrow bucket that the entry goes to (WakeWheel). After
// eight changes of the record's tag, an old entry looks valid again. The page then wakes early,
// which costs only time. Value type, thread-compatible.
struct WakeEntry {
  static constexpr int kStepBits = 5;
  static constexpr size_t kSteps = size_t{1} << kStepBits;
  PageId page;
  uint8_t mark = 0;  // tag + 8 step
  [[nodiscard]] uint8_t tag() const { return mark & 7; }
  [[nodiscard]] uint8_t step() const { return mark >> 3; }
};

// Entries in a chain of chunks. Only the first chunk can have free space. The bucket refers to the
// first three chunks, and each chunk to the third one behind it, so that three chunks can be
// fetched at once. In a plain chain, each chunk would have to arrive before the next one is known.
// Value type, thread-compatible.
struct WakeBucket {
  std::array<uint32_t, 3> chunks = {};
  uint32_t count = 0;
};

// The chunks of all buckets of an index; number 0 = none. A chunk is one cache line. Adding an
// entry, or removing the twelve entries of a chunk, therefore touches only one cache line besides
// the bucket. Freed chunks are reused first, because they are in the cache. Owner thread only.
//
// PushLater delays an entry until a few more entries have been added. Meanwhile the bucket and the
// chunk are prefetched, because a random access takes longer than the rest of filing a page.
class WakeChunks {
 public:
  // Adds an entry. Allocates a chunk if the first one is full.
  void Push(WakeBucket& bucket, WakeEntry entry);
  // Adds an entry, at the latest when Flush is called. Until Flush is called, do not move any
  // bucket, and call no function other than PushLater.
  void PushLater(WakeBucket& bucket, WakeEntry entry);
  // Adds all delayed entries. Call this before any bucket is emptied.
  void Flush();
  // Removes all entries and calls visit(entry) for each. `visit` may push into buckets. Returns the
  // number of entries.
  template <typename Visit>
  uint32_t Empty(WakeBucket& bucket, const Visit& visit);
  // Moves entries of `from` to the buckets in `to`: each goes to the bucket with the number of its
  // step, and its step becomes 0. Takes whole chunks, until at least `wanted` entries or all have
  // moved. Returns the number of entries.
  [[nodiscard]] uint32_t Spread(WakeBucket& from, uint32_t wanted,
                                std::span<WakeBucket, WakeEntry::kSteps> to);
  // Prefetches a bucket that will be emptied soon.
  void Prefetch(const WakeBucket& bucket) const {
    for (const uint32_t chunk : bucket.chunks) PrefetchChunk(chunk);
  }

  // The number of entries in all wheels. The wheels report changes to CountEntries.
  [[nodiscard]] uint64_t entries() const { return entries_; }
  void CountEntries(int64_t change) { entries_ += static_cast<uint64_t>(change); }

 private:
  static constexpr uint32_t kCapacity = 12;
  struct Chunk {
    uint32_t third = 0;  // the third chunk behind this one; for a free chunk, the next free one
    uint32_t pages[kCapacity];
    uint8_t marks[kCapacity];
  };
  static_assert(sizeof(Chunk) == 64);
  struct Pending {
    WakeBucket* bucket = nullptr;
    WakeEntry entry;
  };
  static constexpr size_t kStage = 4;
  [[nodiscard]] uint32_t Take();
  // Removes the first chunks of a bucket until at least `wanted` entries or all are removed, and
  // returns their number. `visit` must not touch the bucket.
  template <typename Visit>
  uint32_t TakeOut(WakeBucket& bucket, uint32_t wanted, const Visit& visit);
  // Adds an empty chunk at the front of the bucket. Precondition: all its chunks are full.
  [[nodiscard]] Chunk& Extend(WakeBucket& bucket);
  [[gnu::always_inline]] void PrefetchChunk(uint32_t chunk) const {
    if (chunk != 0) __builtin_prefetch(&chunks_[chunk], 1);
  }
  void GiveBack(uint32_t chunk);

  SegmentedArray<Chunk> chunks_;
  std::array<Pending, 2 * kStage> pending_;  // a ring buffer; pending_end_ is its end
  size_t pending_end_ = 0;
  uint64_t entries_ = 0;
  uint32_t used_ = 1;
  uint32_t free_ = 0;
};

template <typename Visit>
uint32_t WakeChunks::TakeOut(WakeBucket& bucket, uint32_t wanted, const Visit& visit) {
  Prefetch(bucket);
  uint32_t taken = 0;
  while (bucket.count > 0 && taken < wanted) {
    const uint32_t number = bucket.chunks[0];
    const Chunk chunk = chunks_[number];
    PrefetchChunk(chunk.third);
    const uint32_t here = (bucket.count - 1) % kCapacity + 1;
    GiveBack(number);
    bucket = {{bucket.chunks[1], bucket.chunks[2], chunk.third}, bucket.count - here};
    for (uint32_t i = 0; i < here; ++i) visit(WakeEntry{PageId(chunk.pages[i]), chunk.marks[i]});
    taken += here;
  }
  return taken;
}

template <typename Visit>
uint32_t WakeChunks::Empty(WakeBucket& bucket, const Visit& visit) {
  WakeBucket old = std::exchange(bucket, WakeBucket());
  return TakeOut(old, old.count, visit);
}

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_WAKE_CHUNKS_H_
