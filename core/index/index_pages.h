// The pages of an index: what was put in of each, apart from where it is filed.
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

// Owner thread only. Rows stay valid (PageRows).
class IndexPages {
 public:
  void GrowTo(size_t pages) { rows_.GrowTo(pages); }
  // Pages that are in, suspended ones too.
  [[nodiscard]] size_t size() const { return size_; }
  // Ids that there is room for.
  [[nodiscard]] size_t room() const { return rows_.size(); }

  // Precondition of these: there is room for the id.
  [[nodiscard]] PageRow operator[](PageId page) { return rows_[page]; }
  [[nodiscard]] const IndexRecord& record(PageId page) const { return rows_.record(page); }
  [[nodiscard]] HostId host(PageId page) const { return rows_.host(page); }
  [[nodiscard]] uint16_t level(PageId page) const { return rows_.level(page); }
  [[nodiscard]] PagePlace PlaceOf(PageId page) const { return rows_.record(page).place(); }
  // Inlined early: see PageRows.
  [[gnu::always_inline]] void PrefetchRecord(PageId page) const { rows_.PrefetchRecord(page); }
  [[gnu::always_inline]] void PrefetchLevel(PageId page) const { rows_.PrefetchLevel(page); }
  [[gnu::always_inline]] void PrefetchHost(PageId page) const { rows_.PrefetchHost(page); }

  [[nodiscard]] bool Has(PageId page) const {
    return page.value() < rows_.size() && PlaceOf(page) != PagePlace::kNone;
  }
  [[nodiscard]] const Policy& PolicyOf(const IndexRecord& record) const {
    return policies_[record.policy()];
  }
  // nullptr: the page may be picked at any time, and need not be.
  [[nodiscard]] const PageTimes* TimesOf(PageId page) const { return times_.Find(page); }
  [[nodiscard]] bool HasTimes() const { return !times_.empty(); }

  // Takes over what is known of a page, in canonical form: an eligible_from that is not after `now`
  // is the epoch. Its tag stays. The place is the caller's to set.
  void Enter(PageRow row, const IndexEntry& entry, Instant now);
  // The page is no more. Precondition: it is in.
  void Leave(PageRow row);
  // The exponent is `exponent` at `since`. Precondition: the page is in.
  void Restart(PageRow row, double exponent, Instant since);

  // Nothing: it is not in.
  [[nodiscard]] std::optional<IndexEntry> Find(PageId page) const;
  // Precondition: the page is in.
  [[nodiscard]] double ExponentOf(PageId page, Instant at) const;

 private:
  [[nodiscard]] uint64_t InternPolicy(const Policy& policy);

  PageRows rows_;
  TimesTable times_;
  std::array<Policy, 4> policies_;
  std::array<uint64_t, 4> policy_pages_{};
  size_t size_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_INDEX_PAGES_H_
