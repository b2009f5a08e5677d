// An array that grows without moving what it holds, so that no call pays for a copy of everything.
#ifndef FRESHET_CORE_INDEX_SEGMENTED_ARRAY_H_
#define FRESHET_CORE_INDEX_SEGMENTED_ARRAY_H_

#include <cstddef>
#include <memory>
#include <vector>

namespace freshet {

// Owner thread only. Blocks of 2^16 elements, value-initialised; memory grows by one block at a
// time and is never given back before the array goes.
template <typename T>
class SegmentedArray {
 public:
  static constexpr size_t kBlockBits = 16;
  static constexpr size_t kBlock = size_t{1} << kBlockBits;

  // Precondition of access: i < capacity().
  [[nodiscard]] T& operator[](size_t i) { return blocks_[i >> kBlockBits][i & (kBlock - 1)]; }
  [[nodiscard]] const T& operator[](size_t i) const {
    return blocks_[i >> kBlockBits][i & (kBlock - 1)];
  }
  [[nodiscard]] size_t capacity() const { return blocks_.size() * kBlock; }
  // Makes element i accessible.
  void Cover(size_t i) {
    while (i >= capacity()) blocks_.push_back(std::make_unique<T[]>(kBlock));
  }

 private:
  std::vector<std::unique_ptr<T[]>> blocks_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_SEGMENTED_ARRAY_H_
