// Address space for large arrays, backed by huge pages where the system has them.
#ifndef FRESHET_CORE_BASE_HUGE_BLOCK_H_
#define FRESHET_CORE_BASE_HUGE_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <memory>

namespace freshet {

// Owns `bytes` of zeroed memory for an array that grows from its beginning, which lies at a
// multiple of kHugePage. The system gives memory only when it is touched. Each stretch of kHugePage
// bytes that is in use as a whole is one huge page; the last stretch, in use in part, consists of
// ordinary pages until it is full. So a small array takes little memory, and a large one has huge
// pages without wasting the unused end of the last. On a system without huge pages all pages are
// ordinary. Throws std::bad_alloc when there is no address space left. Thread-compatible.
class HugeBlock {
 public:
  static constexpr size_t kHugePage = size_t{1} << 21;

  explicit HugeBlock(size_t bytes);

  [[nodiscard]] void* data() const { return data_.get(); }
  // Says that the first `bytes` are in use from now on. Call it before you touch bytes that no
  // earlier call has named. A stretch that is now full becomes a huge page: its ordinary pages are
  // copied, once; an unused stretch needs no copy. Taking a huge page from the system and copying
  // into it costs half a millisecond in all. So an earlier call takes the page, when only the last
  // kAhead bytes of the stretch are unused.
  void Use(size_t bytes) {
    if (bytes >= next_step_) Step(bytes);
    used_ = bytes;
  }

 private:
  // How much of a stretch is still unused when the huge page for it is taken.
  static constexpr size_t kAhead = kHugePage / 32;
  struct Unmap {
    size_t bytes;
    void operator()(char* data) const;
  };
  using Mapping = std::unique_ptr<char, Unmap>;
  [[nodiscard]] static Mapping Map(size_t bytes);
  [[nodiscard]] static Mapping TakeHugePage();
  void Step(size_t bytes);
  // Turns the ordinary pages from `first` on into a huge one.
  void MakeHuge(size_t first);

  Mapping data_;
  Mapping next_;  // the huge page, if taken, for the stretch that `used_` lies in
  size_t used_ = 0;
  size_t next_step_ = kHugePage - kAhead;
};

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_HUGE_BLOCK_H_
