// Address space for large arrays, backed by huge pages where the system has them.
#ifndef FRESHET_CORE_BASE_HUGE_BLOCK_H_
#define FRESHET_CORE_BASE_HUGE_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <memory>

namespace freshet {

// Owns `bytes` of zeroed memory for an array that grows from the beginning of the block. The block
// starts at a multiple of kHugePage. The system provides memory only when it is touched. The block
// consists of stretches of kHugePage bytes. Each stretch that is fully in use is one huge page. The
// last stretch, which is partly in use, consists of ordinary pages until it is full. So a small
// array takes little memory, and a large array has huge pages but wastes no memory in its last
// stretch. On a system without huge pages, all pages are ordinary. Throws std::bad_alloc when no
// address space is left. Thread-compatible.
class HugeBlock {
 public:
  static constexpr size_t kHugePage = size_t{1} << 21;

  explicit HugeBlock(size_t bytes);

  [[nodiscard]] void* data() const { return data_.get(); }
  // Declares that the first `bytes` are in use from now on. Call it before you touch bytes that no
  // earlier call has covered. A stretch that is now full becomes a huge page: its ordinary pages
  // are copied once. A stretch that was unused until now needs no copy. Taking a huge page from the
  // system and copying into it costs half a millisecond in total. Use splits this cost between two
  // calls: an earlier call takes the huge page, as soon as at most kAhead bytes of the stretch are
  // unused.
  void Use(size_t bytes) {
    if (bytes >= next_step_) Step(bytes);
    used_ = bytes;
  }

 private:
  // The huge page for a stretch is taken when at most this many bytes of the stretch are unused.
  static constexpr size_t kAhead = kHugePage / 32;
  struct Unmap {
    size_t bytes;
    void operator()(char* data) const;
  };
  using Mapping = std::unique_ptr<char, Unmap>;
  [[nodiscard]] static Mapping Map(size_t bytes);
  [[nodiscard]] static Mapping TakeHugePage();
  void Step(size_t bytes);
  // Replaces the ordinary pages from offset `first` on with one huge page.
  void MakeHuge(size_t first);

  Mapping data_;
  Mapping next_;  // the huge page for the stretch at offset `used_`; nullptr = not taken yet
  size_t used_ = 0;
  size_t next_step_ = kHugePage - kAhead;
};

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_HUGE_BLOCK_H_
