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
  const auto address = reinterpret_cast<uintptr_t>(start);
  const uintptr_t aligned = (address + kHugePage - 1) / kHugePage * kHugePage;
  const size_t before = aligned - address;
  if (before > 0) (void)munmap(start, before);
  if (before < kHugePage) {
    (void)munmap(reinterpret_cast<void*>(aligned + bytes_), kHugePage - before);
  }
  data_ = reinterpret_cast<void*>(aligned);
  // Advice only: where it is refused, ordinary pages do.
  if (bytes_ > kHugePage) {
    (void)madvise(static_cast<char*>(data_) + kHugePage, bytes_ - kHugePage, MADV_HUGEPAGE);
  }
}

HugeBlock::~HugeBlock() {
  if (data_ != nullptr) (void)munmap(data_, bytes_);
}

}  // namespace freshet
