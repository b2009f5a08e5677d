#include "core/base/huge_block.h"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <utility>

namespace freshet {

HugeBlock::HugeBlock(size_t bytes) : data_(Map((bytes + kHugePage - 1) / kHugePage * kHugePage)) {}

HugeBlock::Mapping HugeBlock::Map(size_t bytes) {
  // Reserves one huge page more than needed, then unmaps the parts before and after the aligned
  // block.
  const size_t reserved = bytes + kHugePage;
  void* const start =
      mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  char* const first = static_cast<char*>(start);
  const size_t past = reinterpret_cast<uintptr_t>(start) % kHugePage;
  const size_t before = past == 0 ? 0 : kHugePage - past;
  if (before > 0) (void)munmap(first, before);
  (void)munmap(first + before + bytes, kHugePage - before);
  return {first + before, Unmap{bytes}};
}

HugeBlock::Mapping HugeBlock::TakeHugePage() {
  Mapping page = Map(kHugePage);
  // Advice only: if the system refuses, ordinary pages are used.
  (void)madvise(page.get(), kHugePage, MADV_HUGEPAGE);
  *page = 0;
  return page;
}

void HugeBlock::Step(size_t bytes) {
  size_t first = used_ / kHugePage * kHugePage;
  const size_t end = bytes / kHugePage * kHugePage;
  if (used_ > first && end > first) {
    MakeHuge(first);
    first += kHugePage;
  }
  if (end > first) (void)madvise(data_.get() + first, end - first, MADV_HUGEPAGE);
  const bool ahead = bytes - end >= kHugePage - kAhead;
  if (ahead && next_ == nullptr) next_ = TakeHugePage();
  next_step_ = end + kHugePage - (ahead ? 0 : kAhead);
}

void HugeBlock::MakeHuge(size_t first) {
  Mapping page = next_ == nullptr ? TakeHugePage() : std::exchange(next_, nullptr);
  std::memcpy(page.get(), data_.get() + first, used_ - first);
  const void* const moved =
      mremap(page.get(), kHugePage, kHugePage, MREMAP_MAYMOVE | MREMAP_FIXED, data_.get() + first);
  if (moved != MAP_FAILED) (void)page.release();
}

void HugeBlock::Unmap::operator()(char* data) const { (void)munmap(data, bytes); }

}  // namespace freshet
