#include "core/index/wake_chunks.h"

namespace freshet {

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
  const uint32_t place = bucket.count % kCapacity;
  if (place == 0) {
    const uint32_t chunk = Take();
    chunks_[chunk].next = bucket.chunk;
    bucket.chunk = chunk;
  }
  Chunk& chunk = chunks_[bucket.chunk];
  chunk.pages[place] = entry.page.value();
  chunk.marks[place] = entry.mark;
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
  if (fetched.bucket != nullptr && fetched.bucket->chunk != 0) {
    __builtin_prefetch(&chunks_[fetched.bucket->chunk], 1);
  }
}

void WakeChunks::Flush() {
  for (; pending_size_ > 0; --pending_size_) {
    const Pending& oldest = pending_[(pending_end_ - pending_size_) % pending_.size()];
    Push(*oldest.bucket, oldest.entry);
  }
  pending_.fill({});
}

}  // namespace freshet
