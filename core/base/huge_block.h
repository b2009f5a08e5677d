// Address space for large arrays, backed by huge pages where the system has them.
#ifndef FRESHET_CORE_BASE_HUGE_BLOCK_H_
#define FRESHET_CORE_BASE_HUGE_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <memory>

namespace freshet {

// Owns `bytes` of zeroed memory that begins at a multiple of kHugePage. Memory is taken from the
// system when it is first touched: by huge pages, but for the first one's worth, so that what stays
// small stays small. A system without huge pages uses ordinary ones. Throws std::bad_alloc when
// there is no address space left. Thread-compatible.
class HugeBlock {
 public:
  static constexpr size_t kHugePage = size_t{1} << 21;

  explicit HugeBlock(size_t bytes);

  [[nodiscard]] void* data() const { return data_.get(); }

 private:
  struct Unmap {
    size_t bytes;
    void operator()(char* data) const;
  };
  std::unique_ptr<char, Unmap> data_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_HUGE_BLOCK_H_
