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

void WakeChunks::Push(WakeBucket& bucket, WakeEntry entry) {
  const uint32_t place = bucket.count % kCapacity;
  if (place == 0) {
    const uint32_t chunk = Take();
    chunks_[chunk].third = bucket.chunks[2];
    bucket.chunks = {chunk, bucket.chunks[0], bucket.chunks[1]};
  }
  Chunk& chunk = chunks_[bucket.chunks[0]];
  chunk.pages[place] = entry.page.value();
  chunk.marks[place] = entry.mark;
  ++bucket.count;
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
