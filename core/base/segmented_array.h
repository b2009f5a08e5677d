// An array that grows without moving its elements: no pause to copy, no slack of a doubling.
#ifndef FRESHET_CORE_BASE_SEGMENTED_ARRAY_H_
#define FRESHET_CORE_BASE_SEGMENTED_ARRAY_H_

#include <algorithm>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/huge_block.h"

namespace freshet {

// Replaces a vector where copies cost too much: with ten million pages, doubling a vector stops
// everything for tens of milliseconds and holds both copies at once. Owner thread only.
//
// Elements live in blocks of 2^kBlockBits in huge pages; references stay valid. Memory is taken as
// the array grows and given back when it goes. The first block takes no more than it needs, the
// others by whole huge pages, which spares copies of ordinary ones (HugeBlock::Use).
template <typename T, size_t kBlockBits = 20>
class SegmentedArray {
 public:
  SegmentedArray() = default;
  SegmentedArray(SegmentedArray&& other) noexcept { *this = std::move(other); }
  SegmentedArray& operator=(SegmentedArray&& other) noexcept {
    std::swap(blocks_, other.blocks_);
    std::swap(size_, other.size_);
    return *this;
  }
  SegmentedArray(const SegmentedArray&) = delete;
  SegmentedArray& operator=(const SegmentedArray&) = delete;
  ~SegmentedArray() {
    if constexpr (!std::is_trivially_destructible_v<T>) {
      for (size_t i = 0; i < size_; ++i) (*this)[i].~T();
    }
  }

  [[nodiscard]] size_t size() const { return size_; }
  // Precondition: i < size().
  [[nodiscard]] T& operator[](size_t i) {
    DCHECK(i < size_);
    return Block(i)[i & kMask];
  }
  [[nodiscard]] const T& operator[](size_t i) const {
    DCHECK(i < size_);
    return Block(i)[i & kMask];
  }
  // The same, checked: i < size().
  [[nodiscard]] T& at(size_t i) {
    CHECK(i < size_, "element {} of {}", i, size_);
    return (*this)[i];
  }
  [[nodiscard]] const T& at(size_t i) const {
    CHECK(i < size_, "element {} of {}", i, size_);
    return (*this)[i];
  }
  // Adds elements made by T() until there are at least `size`.
  void GrowTo(size_t size) {
    while (size_ < size) {
      if (size_ == blocks_.size() << kBlockBits) blocks_.emplace_back(kBlockBytes);
      const size_t before = (blocks_.size() - 1) << kBlockBits;
      const size_t end = std::min(size - before, kMask + 1);
      // The rest of a huge page is much of one block, and little of more.
      blocks_.back().Use(before > 0 ? kBlockBytes : end * sizeof(T));
      for (; size_ < before + end; ++size_) ::new (Block(size_) + (size_ & kMask)) T();
    }
  }

 private:
  static constexpr size_t kMask = (size_t{1} << kBlockBits) - 1;
  static constexpr size_t kBlockBytes = sizeof(T) << kBlockBits;
  [[nodiscard]] T* Block(size_t i) const {
    return static_cast<T*>(blocks_[i >> kBlockBits].data());
  }
  std::vector<HugeBlock> blocks_;
  size_t size_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_SEGMENTED_ARRAY_H_
