// A heap that tells its owner the position of every entry. The owner can therefore remove or move
// any entry without a search, and no entry becomes stale.
#ifndef FRESHET_CORE_PLAN_PLACED_HEAP_H_
#define FRESHET_CORE_PLAN_PLACED_HEAP_H_

#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/base/plain_vector.h"
#include "core/base/units.h"

namespace freshet {

// An entry. Entries are ordered by key, the earliest first. Equal keys are ordered by id. The key
// is stored in halves, so that an entry takes only twelve bytes, and the four children of a node
// less than a cache line. Value type, thread-compatible.
class HeapEntry {
 public:
  HeapEntry() = default;
  HeapEntry(Instant key, uint32_t id)
      : high_(static_cast<int32_t>(key.micros() >> 32)),
        low_(static_cast<uint32_t>(key.micros())),
        id_(id) {}
  [[nodiscard]] Instant key() const {
    return Instant::FromMicros(static_cast<int64_t>(uint64_t{static_cast<uint32_t>(high_)} << 32) |
                               low_);
  }
  [[nodiscard]] uint32_t id() const { return id_; }
  [[nodiscard]] bool operator<(const HeapEntry& other) const {
    return key() != other.key() ? key() < other.key() : id_ < other.id_;
  }

 private:
  int32_t high_ = 0;
  uint32_t low_ = 0;
  uint32_t id_ = 0;
};

// The heap. It calls `placed(id, position)` whenever an entry moves, and `placed(id, kNowhere)`
// when an entry leaves. The owner stores the positions and passes them to Erase and Replace. Every
// function takes O(log size) and returns the number of entries that it visited. Thread-compatible.
class PlacedHeap {
 public:
  static constexpr uint32_t kNowhere = ~uint32_t{0};

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] size_t size() const { return entries_.size(); }
  // Precondition: not empty.
  [[nodiscard]] const HeapEntry& top() const { return entries_.front(); }

  template <typename Placed>
  size_t Insert(const HeapEntry& entry, const Placed& placed);
  // Precondition of Erase and Replace: there is an entry at `position`.
  template <typename Placed>
  size_t Erase(uint32_t position, const Placed& placed);
  // Replaces the entry. If the new entry has another id, `placed` is not called for the old id.
  template <typename Placed>
  size_t Replace(uint32_t position, const HeapEntry& entry, const Placed& placed);

 private:
  static constexpr size_t kChildren = 4;

  // Moves the entry at `position` to where it belongs.
  template <typename Placed>
  size_t Sift(size_t position, const Placed& placed);

  PlainVector<HeapEntry> entries_;
};

template <typename Placed>
size_t PlacedHeap::Sift(size_t position, const Placed& placed) {
  const HeapEntry moved = entries_[position];
  size_t looked_at = 1;
  for (; position > 0; ++looked_at) {
    const size_t parent = (position - 1) / kChildren;
    if (!(moved < entries_[parent])) break;
    entries_[position] = entries_[parent];
    placed(entries_[position].id(), static_cast<uint32_t>(position));
    position = parent;
  }
  for (size_t child = kChildren * position + 1; child < entries_.size();
       child = kChildren * position + 1) {
    size_t first = child;
    for (size_t i = child + 1; i < child + kChildren && i < entries_.size(); ++i) {
      if (entries_[i] < entries_[first]) first = i;
      ++looked_at;
    }
    if (!(entries_[first] < moved)) break;
    entries_[position] = entries_[first];
    placed(entries_[position].id(), static_cast<uint32_t>(position));
    position = first;
  }
  entries_[position] = moved;
  placed(moved.id(), static_cast<uint32_t>(position));
  return looked_at;
}

template <typename Placed>
size_t PlacedHeap::Insert(const HeapEntry& entry, const Placed& placed) {
  CHECK(entries_.size() < kNowhere);
  entries_.push_back(entry);
  return Sift(entries_.size() - 1, placed);
}

template <typename Placed>
size_t PlacedHeap::Erase(uint32_t position, const Placed& placed) {
  CHECK(position < entries_.size(), "nothing lies at {}", position);
  const uint32_t left = entries_[position].id();
  const HeapEntry last = entries_.back();
  entries_.pop_back();
  size_t looked_at = 1;
  if (position < entries_.size()) {
    entries_[position] = last;
    looked_at += Sift(position, placed);
  }
  placed(left, kNowhere);
  return looked_at;
}

template <typename Placed>
size_t PlacedHeap::Replace(uint32_t position, const HeapEntry& entry, const Placed& placed) {
  CHECK(position < entries_.size(), "nothing lies at {}", position);
  entries_[position] = entry;
  return Sift(position, placed);
}

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_PLACED_HEAP_H_
