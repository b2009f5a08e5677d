// Address space for large arrays, backed by huge pages where the system has them.
#ifndef FRESHET_CORE_BASE_HUGE_BLOCK_H_
#define FRESHET_CORE_BASE_HUGE_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <memory>

namespace freshet {

// Owns `bytes` of zeroed memory that begins at a multiple of kHugePage. Memory is taken from the
// system when it is first touched: by ordinary pages where a huge one's worth is not in use as a
// whole, else by a huge page. So what is small stays small, and of what grows no rest of a huge
// page is wasted. A system without huge pages uses ordinary ones. Throws std::bad_alloc when there
// is no address space left. Thread-compatible.
class HugeBlock {
 public:
  static constexpr size_t kHugePage = size_t{1} << 21;

  explicit HugeBlock(size_t bytes);

  [[nodiscard]] void* data() const { return data_.get(); }
  // To be called before more than the first so many bytes as the last call said are touched: the
  // first `bytes` are in use from now on. Ordinary pages that with this make up a huge one become
  // one: they are copied, once, which takes about half a millisecond. Huge pages of which nothing
  // was in use take no copy.
  void Use(size_t bytes) {
    if (bytes / kHugePage > used_ / kHugePage) AskForHuge(bytes);
    used_ = bytes;
  }

 private:
  void AskForHuge(size_t bytes);

  struct Unmap {
    size_t bytes;
    void operator()(char* data) const;
  };
  std::unique_ptr<char, Unmap> data_;
  size_t used_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_HUGE_BLOCK_H_
