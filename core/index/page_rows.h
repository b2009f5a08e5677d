// What the index holds of every page: its record, its host and the level of its crossing.
#ifndef FRESHET_CORE_INDEX_PAGE_ROWS_H_
#define FRESHET_CORE_INDEX_PAGE_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "core/base/segmented_array.h"
#include "core/base/units.h"
#include "core/index/index_record.h"

namespace freshet {

// Sixteen pages. Owner thread only, as what it is part of.
struct PageGroup {
  static constexpr size_t kPages = 16;
  IndexRecord records[kPages];
  uint32_t hosts[kPages] = {};
  uint16_t levels[kPages] = {};
};
static_assert(sizeof(PageGroup) == 38 * PageGroup::kPages);

// What is held of one page, found once and used as long as PageRows is there. As a reference: a
// copy is the same row. Owner thread only.
class PageRow {
 public:
  PageRow(PageGroup& group, PageId page) : group_(&group), page_(page) {}
  [[nodiscard]] PageId page() const { return page_; }
  [[nodiscard]] IndexRecord& record() const { return group_->records[At()]; }
  [[nodiscard]] HostId host() const { return HostId(group_->hosts[At()]); }
  void set_host(HostId host) const { group_->hosts[At()] = host.value(); }
  // Of the crossing; of a waiting page where it waits: 0 and 1 are alone in pool 0 and in that of
  // its host, the others are queues.
  [[nodiscard]] uint16_t& level() const { return group_->levels[At()]; }

 private:
  [[nodiscard]] size_t At() const { return page_.value() % PageGroup::kPages; }
  PageGroup* group_;
  PageId page_;
};

// Owner thread only; 38 bytes a page. Rows and references stay valid.
//
// The three are kept in groups of pages and not in an array each: finding where an address is in
// memory takes as long as fetching what is there when the table that tells it is not at hand, and
// what stands close together is found by one look into it.
class PageRows {
 public:
  [[nodiscard]] size_t size() const { return size_; }
  // Adds pages until there are at least `pages`: zero records, which are of no page that is in.
  // Memory is touched as it grows, 38 bytes a page, so that a large index is best grown in slices.
  void GrowTo(size_t pages) {
    if (pages <= size_) return;
    groups_.GrowTo((pages + kGroup - 1) / kGroup);
    size_ = pages;
  }

  // Precondition of all: page < size(). A page has its row from the first Put on, and keeps it when
  // it goes: its tag must not start anew while wheels hold entries of it.
  [[nodiscard]] PageRow operator[](PageId page) { return {groups_[page.value() / kGroup], page}; }
  [[nodiscard]] const IndexRecord& record(PageId page) const { return Of(page).records[At(page)]; }
  [[nodiscard]] HostId host(PageId page) const { return HostId(Of(page).hosts[At(page)]); }
  [[nodiscard]] uint16_t level(PageId page) const { return Of(page).levels[At(page)]; }

  // Inlined early: GCC takes a function that does nothing but prefetch for one without effects, and
  // drops the call.
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

  // Of 2^20 pages in a block, which are 19 huge pages.
  SegmentedArray<PageGroup, 16> groups_;
  size_t size_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_PAGE_ROWS_H_
