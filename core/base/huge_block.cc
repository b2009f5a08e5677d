#include "core/base/huge_block.h"

#include <sys/mman.h>

#include <new>

namespace freshet {
namespace {

// MADV_COLLAPSE, since Linux 6.1, which not all headers know.
constexpr int kCollapse = 25;

}  // namespace

HugeBlock::HugeBlock(size_t bytes) {
  const size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  // More is reserved than needed; what is before and after the aligned part is given back.
  const size_t reserved = whole + kHugePage;
  void* const start =
      mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  char* const first = static_cast<char*>(start);
  const size_t past = reinterpret_cast<uintptr_t>(start) % kHugePage;
  const size_t before = past == 0 ? 0 : kHugePage - past;
  if (before > 0) (void)munmap(first, before);
  (void)munmap(first + before + whole, kHugePage - before);
  data_ = std::unique_ptr<char, Unmap>(first + before, Unmap{whole});
}

void HugeBlock::AskForHuge(size_t bytes) {
  const size_t first = used_ / kHugePage * kHugePage;
  const size_t end = bytes / kHugePage * kHugePage;
  // Advice only: where it is refused, ordinary pages do.
  (void)madvise(data_.get() + first, end - first, MADV_HUGEPAGE);
  // Where it is not known the system collapses the pages in time by itself, as they were advised.
  if (used_ > first) (void)madvise(data_.get() + first, kHugePage, kCollapse);
}

void HugeBlock::Unmap::operator()(char* data) const { (void)munmap(data, bytes); }

}  // namespace freshet
