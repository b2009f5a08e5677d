#include "core/base/huge_block.h"

#include <sys/mman.h>

#include <new>

namespace freshet {

HugeBlock::HugeBlock(size_t bytes)
    : data_(nullptr), bytes_((bytes + kHugePage - 1) / kHugePage * kHugePage) {
  // More is reserved than needed; what is before and after the aligned part is given back.
  const size_t reserved = bytes_ + kHugePage;
  void* const start =
      mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  char* const first = static_cast<char*>(start);
  const size_t past = reinterpret_cast<uintptr_t>(start) % kHugePage;
  const size_t before = past == 0 ? 0 : kHugePage - past;
  if (before > 0) (void)munmap(first, before);
  (void)munmap(first + before + bytes_, kHugePage - before);
  data_ = first + before;
  // Advice only: where it is refused, ordinary pages do.
  if (bytes_ > kHugePage) {
    (void)madvise(static_cast<char*>(data_) + kHugePage, bytes_ - kHugePage, MADV_HUGEPAGE);
  }
}

HugeBlock::~HugeBlock() {
  if (data_ != nullptr) (void)munmap(data_, bytes_);
}

}  // namespace freshet
