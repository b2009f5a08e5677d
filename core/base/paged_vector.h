// A vector that grows without moving what it holds: no pause to copy it, no slack of a doubling.
#ifndef FRESHET_CORE_BASE_PAGED_VECTOR_H_
#define FRESHET_CORE_BASE_PAGED_VECTOR_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "core/base/check.h"

namespace freshet {

// Elements live in pages of 2^kPageBits; references stay valid. Thread-compatible.
template <typename T, int kPageBits = 12>
class PagedVector {
 public:
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] T& operator[](size_t i) {
    DCHECK(i < size_);
    return pages_[i >> kPageBits][i & kMask];
  }
  [[nodiscard]] const T& operator[](size_t i) const {
    DCHECK(i < size_);
    return pages_[i >> kPageBits][i & kMask];
  }
  // Adds elements made by T() until there are `size`. Never shrinks.
  void GrowTo(size_t size) {
    while (pages_.size() << kPageBits < size) {
      pages_.push_back(std::make_unique<T[]>(size_t{1} << kPageBits));
    }
    if (size > size_) size_ = size;
  }

 private:
  static constexpr size_t kMask = (size_t{1} << kPageBits) - 1;
  std::vector<std::unique_ptr<T[]>> pages_;
  size_t size_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_PAGED_VECTOR_H_
