// Address space for large arrays, backed by huge pages where the system has them.
#ifndef FRESHET_CORE_BASE_HUGE_BLOCK_H_
#define FRESHET_CORE_BASE_HUGE_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <utility>

namespace freshet {

// Owns `bytes` of zeroed memory that begins at a multiple of kHugePage. Memory is taken from the
// system when it is first touched: by huge pages, but for the first one's worth, so that what stays
// small stays small. A system without huge pages uses ordinary ones. Throws std::bad_alloc when
// there is no address space left. Thread-compatible.
class HugeBlock {
 public:
  static constexpr size_t kHugePage = size_t{1} << 21;

  explicit HugeBlock(size_t bytes);
  ~HugeBlock();
  HugeBlock(HugeBlock&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  HugeBlock& operator=(HugeBlock&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  HugeBlock(const HugeBlock&) = delete;
  HugeBlock& operator=(const HugeBlock&) = delete;

  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_;
  size_t bytes_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_HUGE_BLOCK_H_
