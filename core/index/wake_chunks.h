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

// The entry of a sleeping page in a wheel: a tag of 3 bits, which tells the valid entry from older
// entries of the page, and a number of 5 bits for the wheel. After eight changes an old tag equals
// that of the record by chance: then the page wakes early, which costs only time. Value type,
// thread-compatible.
struct WakeEntry {
  static constexpr int kStepBits = 5;
  static constexpr size_t kSteps = size_t{1} << kStepBits;
  PageId page;
  uint8_t mark = 0;  // tag + 8 step
  [[nodiscard]] uint8_t tag() const { return mark & 7; }
  [[nodiscard]] uint8_t step() const { return mark >> 3; }
};

// Entries in a chain of chunks, of which only the first may have room. The bucket names the first
// three chunks and each chunk the third behind it, so that three can be fetched at once: in a plain
// chain each must arrive before the next is known. Value type, thread-compatible.
struct WakeBucket {
  std::array<uint32_t, 3> chunks = {};
  uint32_t count = 0;
};

// The chunks of all buckets of an index; number 0 = none. A chunk is one line of the cache, so that
// adding an entry touches one line beside the bucket, and taking twelve out another. Chunks given
// back are reused first, because they are in the cache. Owner thread only.
//
// An entry may wait until some more have come, while its bucket and chunk are fetched to the cache:
// a random access takes longer than the rest of filing a page.
class WakeChunks {
 public:
  // Adds an entry; takes a chunk when the first one has no room.
  void Push(WakeBucket& bucket, WakeEntry entry);
  // Adds an entry at Flush or before. Until Flush, move no bucket and do nothing else to any.
  void PushLater(WakeBucket& bucket, WakeEntry entry);
  // Adds all waiting entries; call it before any bucket is emptied.
  void Flush();
  // Takes all entries out and calls visit(entry) for each, which may push into buckets. Returns the
  // number of entries.
  template <typename Visit>
  uint32_t Empty(WakeBucket& bucket, const Visit& visit);
  // Takes entries out and adds each, without its step, to the bucket of that number: all of the
  // bucket, or those of as many chunks as hold `wanted`. Returns the number of entries.
  [[nodiscard]] uint32_t Spread(WakeBucket& from, uint32_t wanted,
                                std::span<WakeBucket, WakeEntry::kSteps> to);
  // Fetches a bucket that will be emptied soon.
  void Prefetch(const WakeBucket& bucket) const {
    for (const uint32_t chunk : bucket.chunks) PrefetchChunk(chunk);
  }

  // The entries of all wheels, as counted by the wheels.
  [[nodiscard]] uint64_t entries() const { return entries_; }
  void CountEntries(int64_t change) { entries_ += static_cast<uint64_t>(change); }

 private:
  static constexpr uint32_t kCapacity = 12;
  struct Chunk {
    uint32_t third = 0;  // the third chunk behind this one, or the next free chunk
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
  // Empties the first chunks of a bucket until at least `wanted` entries or all are out, and
  // returns their number. visit must not touch the bucket.
  template <typename Visit>
  uint32_t TakeOut(WakeBucket& bucket, uint32_t wanted, const Visit& visit);
  // Puts a chunk in front of the bucket, whose chunks are full.
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
