// The row of every page in the index: its record, its host and the level of its crossing
// (core/index/wake_threshold.h).
#ifndef FRESHET_CORE_INDEX_PAGE_ROWS_H_
#define FRESHET_CORE_INDEX_PAGE_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "core/base/segmented_array.h"
#include "core/base/units.h"
#include "core/index/index_record.h"

namespace freshet {

// The rows of sixteen pages. Owner thread only.
struct PageGroup {
  static constexpr size_t kPages = 16;
  IndexRecord records[kPages];
  uint32_t hosts[kPages] = {};
  uint16_t levels[kPages] = {};
};
static_assert(sizeof(PageGroup) == 38 * PageGroup::kPages);

// A reference to the row of one page. Copies refer to the same row. Valid as long as the PageRows
// object exists. Owner thread only.
class PageRow {
 public:
  PageRow(PageGroup& group, PageId page) : group_(&group), page_(page) {}
  [[nodiscard]] PageId page() const { return page_; }
  [[nodiscard]] IndexRecord& record() const { return group_->records[At()]; }
  [[nodiscard]] HostId host() const { return HostId(group_->hosts[At()]); }
  void set_host(HostId host) const { group_->hosts[At()] = host.value(); }
  // The level of the crossing. For a page that waits in a pool, the level instead says where: 0 =
  // alone in pool 0, 1 = alone in the pool of its host, otherwise in a queue
  // (core/index/waiting_pages.h).
  [[nodiscard]] uint16_t& level() const { return group_->levels[At()]; }

 private:
  [[nodiscard]] size_t At() const { return page_.value() % PageGroup::kPages; }
  PageGroup* group_;
  PageId page_;
};

// Takes 38 bytes per page. Rows and references stay valid. Owner thread only.
//
// The three columns are stored together in groups of pages, not in one array each. If the
// processor's page table is not in the cache, an address translation takes as long as a memory
// access. Neighbouring data need only one translation.
class PageRows {
 public:
  [[nodiscard]] size_t size() const { return size_; }
  // Adds zeroed rows, with place kNone, until there are at least `pages`. Growing touches 38 bytes
  // of memory per page, so a large index should grow in slices.
  void GrowTo(size_t pages) {
    if (pages <= size_) return;
    groups_.GrowTo((pages + kGroup - 1) / kGroup);
    size_ = pages;
  }

  // Precondition of all: page < size(). A page keeps its row when it leaves, because its tag must
  // not start from zero while wheels still have old entries of the page.
  [[nodiscard]] PageRow operator[](PageId page) { return {groups_[page.value() / kGroup], page}; }
  [[nodiscard]] const IndexRecord& record(PageId page) const { return Of(page).records[At(page)]; }
  [[nodiscard]] HostId host(PageId page) const { return HostId(Of(page).hosts[At(page)]); }
  [[nodiscard]] uint16_t level(PageId page) const { return Of(page).levels[At(page)]; }

  // Always inlined: GCC assumes that a function that only prefetches has no effect, and drops the
  // call.
  [[gnu::always_inline]] void PrefetchRecord(PageId page) const {
    __builtin_prefetch(&Of(page).records[At(page)], 1);
  }
  [[gnu::always_inline]] void PrefetchLevel(PageId page) const {
    __builtin_prefetch(&Of(page).levels[At(page)]);
  }
  [[gnu::always_inline]] void PrefetchHost(PageId page) const {
    __builtin_prefetch(&Of(page).hosts[At(page)]);
  }

 private:
  static constexpr size_t kGroup = PageGroup::kPages;
  [[nodiscard]] static size_t At(PageId page) { return page.value() % kGroup; }
  [[nodiscard]] const PageGroup& Of(PageId page) const { return groups_[page.value() / kGroup]; }

  // Blocks of 2^20 pages, which fill 19 huge memory pages.
  SegmentedArray<PageGroup, 16> groups_;
  size_t size_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_PAGE_ROWS_H_
