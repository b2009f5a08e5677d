// A vector of plain values that is not copied when it grows, once it is large.
#ifndef FRESHET_CORE_BASE_PLAIN_VECTOR_H_
#define FRESHET_CORE_BASE_PLAIN_VECTOR_H_

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "core/base/check.h"

namespace freshet {

// Works like std::vector, but grows with realloc. For a large block, realloc remaps addresses
// instead of copying, and new memory is touched only as it is filled. In contrast, when a
// std::vector of 100 MB grows, that push_back takes tens of milliseconds. For small vectors there
// is no difference. If elements are found by a dense id, use SegmentedArray. Thread-compatible.
template <typename T>
class PlainVector {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t));

 public:
  PlainVector() = default;
  PlainVector(PlainVector&& other) noexcept { *this = std::move(other); }
  PlainVector& operator=(PlainVector&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  PlainVector(const PlainVector&) = delete;
  PlainVector& operator=(const PlainVector&) = delete;

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] size_t size() const { return size_; }
  // Precondition: i < size(). For front, back and pop_back: the vector is not empty.
  [[nodiscard]] T& operator[](size_t i) {
    DCHECK(i < size_);
    return data_.get()[i];
  }
  [[nodiscard]] const T& operator[](size_t i) const {
    DCHECK(i < size_);
    return data_.get()[i];
  }
  [[nodiscard]] const T& front() const { return (*this)[0]; }
  [[nodiscard]] const T& back() const { return (*this)[size_ - 1]; }
  [[nodiscard]] T* begin() { return data_.get(); }
  [[nodiscard]] T* end() { return data_.get() + size_; }

  // Amortised constant time, like std::vector. Invalidates references into the vector. Throws
  // std::bad_alloc if there is no memory. `value` can be an element of this vector.
  void push_back(T value) {
    if (size_ == capacity_) Grow();
    data_.get()[size_++] = value;
  }
  // Releases no memory.
  void pop_back() {
    DCHECK(size_ > 0);
    --size_;
  }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };

  void Grow() {
    const size_t capacity = capacity_ == 0 ? 4 : 2 * capacity_;
    void* const grown = std::realloc(data_.get(), capacity * sizeof(T));
    if (grown == nullptr) throw std::bad_alloc();
    (void)data_.release();
    data_.reset(static_cast<T*>(grown));
    capacity_ = capacity;
  }

  std::unique_ptr<T, Free> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_PLAIN_VECTOR_H_
