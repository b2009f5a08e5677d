// The pages of an index: the entry of each page. The structures in which pages are filed (wheels,
// pools and the band) are stored elsewhere (core/index/page_filing.h).
#ifndef FRESHET_CORE_INDEX_INDEX_PAGES_H_
#define FRESHET_CORE_INDEX_INDEX_PAGES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/units.h"
#include "core/index/alarm.h"
#include "core/index/index_entry.h"
#include "core/index/page_rows.h"
#include "core/index/times_table.h"

namespace freshet {

// References to rows stay valid (PageRows). Owner thread only.
class IndexPages {
 public:
  void GrowTo(size_t pages) { rows_.GrowTo(pages); }
  // Number of pages in the index, including suspended ones.
  [[nodiscard]] size_t size() const { return size_; }
  // Number of page ids that there is room for.
  [[nodiscard]] size_t room() const { return rows_.size(); }

  // Precondition of these: there is room for the id.
  [[nodiscard]] PageRow operator[](PageId page) { return rows_[page]; }
  [[nodiscard]] const IndexRecord& record(PageId page) const { return rows_.record(page); }
  [[nodiscard]] HostId host(PageId page) const { return rows_.host(page); }
  [[nodiscard]] uint16_t level(PageId page) const { return rows_.level(page); }
  [[nodiscard]] PagePlace PlaceOf(PageId page) const { return rows_.record(page).place(); }
  // Always inlined, for the reason in PageRows.
  [[gnu::always_inline]] void PrefetchRecord(PageId page) const { rows_.PrefetchRecord(page); }
  [[gnu::always_inline]] void PrefetchLevel(PageId page) const { rows_.PrefetchLevel(page); }
  [[gnu::always_inline]] void PrefetchHost(PageId page) const { rows_.PrefetchHost(page); }

  // Returns true if the page is in this place and was filed there with this tag. A tag repeats
  // after eight filings of a page, so an older filing can be mistaken for the current one.
  [[nodiscard]] bool IsIn(PageId page, PagePlace place, uint32_t tag) const {
    return PlaceOf(page) == place && record(page).tag() == tag;
  }
  [[nodiscard]] bool Has(PageId page) const {
    return page.value() < rows_.size() && PlaceOf(page) != PagePlace::kNone;
  }
  [[nodiscard]] const Policy& PolicyOf(const IndexRecord& record) const {
    return policies_[record.policy()];
  }
  // nullptr = the page has no times: it can be picked at any time, and is never forced.
  [[nodiscard]] const PageTimes* TimesOf(PageId page) const { return times_.Find(page); }
  [[nodiscard]] bool HasTimes() const { return !times_.empty(); }

  // Stores the entry of a page in canonical form. An eligible_from that is not after `now` becomes
  // none. The page keeps its tag, and the caller sets the place. Returns true if the page has new
  // times, which need alarms.
  bool Enter(PageRow row, const IndexEntry& entry, Instant now);
  // Removes the page. Precondition: the page is in the index.
  void Leave(PageRow row);
  // Sets the exponent to `exponent` at `since`. Precondition: the page is in the index.
  void Restart(PageRow row, double exponent, Instant since);

  // nullopt = the page is not in the index.
  [[nodiscard]] std::optional<IndexEntry> Find(PageId page) const;
  // Precondition: the page is in the index.
  [[nodiscard]] double ExponentOf(PageId page, Instant at) const;

 private:
  [[nodiscard]] uint64_t InternPolicy(const Policy& policy);

  PageRows rows_;
  TimesTable times_;
  std::array<Policy, 4> policies_;
  std::array<uint64_t, 4> policy_pages_{};
  size_t size_ = 0;
  uint32_t last_tag_ = 0;  // the last PageTimes::tag that was assigned
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_INDEX_PAGES_H_
