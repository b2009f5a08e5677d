// Sets of sleeping pages, in chunks of one line of the cache.
#ifndef FRESHET_CORE_INDEX_WAKE_CHUNKS_H_
#define FRESHET_CORE_INDEX_WAKE_CHUNKS_H_

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "core/base/segmented_array.h"
#include "core/base/units.h"

namespace freshet {

// A sleeping page as wheels know it: with a tag of 3 bits, which tells entries that count from
// older ones of the same page, and a number of 5 bits that is the wheel's. After eight changes
// an old entry's tag agrees with the record again by chance: the page wakes early then, which costs
// time and nothing else. Value type, thread-compatible.
struct WakeEntry {
  static constexpr int kStepBits = 5;
  static constexpr size_t kSteps = size_t{1} << kStepBits;
  PageId page;
  uint8_t mark = 0;  // tag + 8 step
  [[nodiscard]] uint8_t tag() const { return mark & 7; }
  [[nodiscard]] uint8_t step() const { return mark >> 3; }
};

// Entries in chunks one behind the other, of which the first may have room. The first three are
// named here and each chunk names the third behind it, so that three can be fetched at once: in a
// plain chain each would have to arrive before the next is known. Value type, thread-compatible.
struct WakeBucket {
  std::array<uint32_t, 3> chunks = {};
  uint32_t count = 0;
};

// Owner thread only. The chunks of all buckets of an index; number 0 is none. A chunk is one line
// of the cache, so that adding an entry to a bucket touches one line beside the bucket, and taking
// twelve out another. Chunks that are given back are taken again first: they are in the cache.
//
// An entry may be put off until some more have come, and its bucket and chunk are fetched to the
// cache meanwhile: a random access takes longer than all else of filing a page.
class WakeChunks {
 public:
  // Adds an entry; takes a chunk when the first one has no room.
  void Push(WakeBucket& bucket, WakeEntry entry);
  // The same, later. The bucket stays where it is, and nothing else is done to any until Flush.
  void PushLater(WakeBucket& bucket, WakeEntry entry);
  // Adds all that was put off; to be called before any bucket is emptied.
  void Flush();
  // Takes all entries out and calls visit(entry) for each, which may push into buckets. Returns how
  // many there were.
  template <typename Visit>
  uint32_t Empty(WakeBucket& bucket, const Visit& visit);
  // Takes entries out and adds each, without its step, to the bucket of that number: all of the
  // bucket, or those of as many chunks as hold `wanted`. Returns how many there were.
  [[nodiscard]] uint32_t Spread(WakeBucket& from, uint32_t wanted,
                                std::span<WakeBucket, WakeEntry::kSteps> to);
  // Of a bucket that is to be emptied soon.
  void Prefetch(const WakeBucket& bucket) const {
    for (const uint32_t chunk : bucket.chunks) PrefetchChunk(chunk);
  }

  // Of all wheels, as they count them.
  [[nodiscard]] uint64_t entries() const { return entries_; }
  void CountEntries(int64_t change) { entries_ += static_cast<uint64_t>(change); }

 private:
  static constexpr uint32_t kCapacity = 12;
  struct Chunk {
    uint32_t third = 0;  // behind this one, or the next of those that are free
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
  // Empties the first chunks of a bucket, which visit does not touch, until `wanted` entries or all
  // are out; how many were.
  template <typename Visit>
  uint32_t TakeOut(WakeBucket& bucket, uint32_t wanted, const Visit& visit);
  // Puts a chunk before those of the bucket, which are full.
  [[nodiscard]] Chunk& Extend(WakeBucket& bucket);
  [[gnu::always_inline]] void PrefetchChunk(uint32_t chunk) const {
    if (chunk != 0) __builtin_prefetch(&chunks_[chunk], 1);
  }
  void GiveBack(uint32_t chunk);

  SegmentedArray<Chunk> chunks_;
  std::array<Pending, 2 * kStage> pending_;  // a ring, up to pending_end_
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
