// An array that grows without moving its elements: it never pauses to copy, and does not reserve
// double the space.
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

// Owner thread only. Use it instead of a vector when copies are too expensive. With ten million
// pages, the doubling of a vector blocks its thread for tens of milliseconds, and both copies are
// in memory at once.
//
// Elements live in blocks of 2^kBlockBits elements in huge pages. References stay valid. Memory is
// taken as the array grows and released by the destructor. The first block takes only what it
// needs. All later blocks take whole huge pages from the start, which avoids the copies of
// HugeBlock::Use.
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
  // Like operator[], but i < size() is checked in all builds.
  [[nodiscard]] T& at(size_t i) {
    CHECK(i < size_, "element {} of {}", i, size_);
    return (*this)[i];
  }
  [[nodiscard]] const T& at(size_t i) const {
    CHECK(i < size_, "element {} of {}", i, size_);
    return (*this)[i];
  }
  // Adds default-constructed elements until the size is at least `size`.
  void GrowTo(size_t size) {
    while (size_ < size) {
      if (size_ == blocks_.size() << kBlockBits) blocks_.emplace_back(kBlockBytes);
      const size_t before = (blocks_.size() - 1) << kBlockBits;
      const size_t end = std::min(size - before, kMask + 1);
      // The first block takes only the memory that it needs. Later blocks take whole huge pages at
      // once: the unused part is then small compared with the earlier blocks.
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
