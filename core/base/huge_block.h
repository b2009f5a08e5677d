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
  // one: they are copied, once. The huge page is taken a little earlier, so that no call that adds
  // a few bytes takes half a millisecond. Huge pages of which nothing was in use take no copy.
  void Use(size_t bytes) {
    if (bytes >= next_step_) Step(bytes);
    used_ = bytes;
  }

 private:
  // The share of a huge page at its end that is left to be used when it is taken.
  static constexpr size_t kAhead = kHugePage / 32;
  struct Unmap {
    size_t bytes;
    void operator()(char* data) const;
  };
  using Mapping = std::unique_ptr<char, Unmap>;
  [[nodiscard]] static Mapping Map(size_t bytes);
  [[nodiscard]] static Mapping TakeHugePage();
  void Step(size_t bytes);
  // Makes the ordinary pages from `first` on a huge one.
  void MakeHuge(size_t first);

  Mapping data_;
  Mapping next_;  // will be the huge page that `used_` is in
  size_t used_ = 0;
  size_t next_step_ = kHugePage - kAhead;
};

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_HUGE_BLOCK_H_
