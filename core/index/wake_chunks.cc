#include "core/index/wake_chunks.h"

namespace freshet {

uint32_t WakeChunks::Take() {
  if (free_ != 0) {
    const uint32_t chunk = free_;
    free_ = chunks_[chunk].third;
    return chunk;
  }
  chunks_.GrowTo(size_t{used_} + 1);
  return used_++;
}

void WakeChunks::GiveBack(uint32_t chunk) {
  chunks_[chunk].third = free_;
  free_ = chunk;
}

WakeChunks::Chunk& WakeChunks::Extend(WakeBucket& bucket) {
  const uint32_t number = Take();
  Chunk& chunk = chunks_[number];
  chunk.third = bucket.chunks[2];
  bucket.chunks = {number, bucket.chunks[0], bucket.chunks[1]};
  return chunk;
}

void WakeChunks::Push(WakeBucket& bucket, WakeEntry entry) {
  const uint32_t place = bucket.count % kCapacity;
  Chunk& chunk = place == 0 ? Extend(bucket) : chunks_[bucket.chunks[0]];
  chunk.pages[place] = entry.page.value();
  chunk.marks[place] = entry.mark;
  ++bucket.count;
}

uint32_t WakeChunks::Spread(WakeBucket& from, uint32_t wanted,
                            std::span<WakeBucket, WakeEntry::kSteps> to) {
  if (from.count == 0) return 0;
  // The chunk that takes the next entries of a bucket. nullptr = none yet; `used` then equals
  // kCapacity, so that the next entry goes to a new chunk.
  struct Last {
    Chunk* chunk = nullptr;
    uint32_t used = kCapacity;
  };
  std::array<Last, WakeEntry::kSteps> last;
  for (size_t i = 0; i < last.size(); ++i) {
    if (to[i].count > 0) last[i] = {&chunks_[to[i].chunks[0]], (to[i].count - 1) % kCapacity + 1};
  }
  return TakeOut(from, wanted, [&](const WakeEntry& entry) {
    Last& here = last[entry.step()];
    if (here.used == kCapacity) here = {&Extend(to[entry.step()]), 0};
    here.chunk->pages[here.used] = entry.page.value();
    here.chunk->marks[here.used] = entry.tag();
    ++here.used;
    ++to[entry.step()].count;
  });
}

void WakeChunks::PushLater(WakeBucket& bucket, WakeEntry entry) {
  __builtin_prefetch(&bucket, 1);
  const Pending oldest =
      std::exchange(pending_[pending_end_++ % pending_.size()], {&bucket, entry});
  if (oldest.bucket != nullptr) Push(*oldest.bucket, oldest.entry);
  const Pending& fetched = pending_[(pending_end_ + kStage) % pending_.size()];
  if (fetched.bucket != nullptr) PrefetchChunk(fetched.bucket->chunks[0]);
}

void WakeChunks::Flush() {
  for (size_t i = 0; i < pending_.size(); ++i) {
    const Pending oldest = std::exchange(pending_[pending_end_++ % pending_.size()], {});
    if (oldest.bucket != nullptr) Push(*oldest.bucket, oldest.entry);
  }
}

}  // namespace freshet
