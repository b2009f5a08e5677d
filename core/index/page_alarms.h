// Alarms for the times of pages (PageTimes). When an alarm is due, the index files the page again.
// When a page gets new times, it gets new alarms, and its old ones become stale.
#ifndef FRESHET_CORE_INDEX_PAGE_ALARMS_H_
#define FRESHET_CORE_INDEX_PAGE_ALARMS_H_

#include <cstddef>
#include <optional>

#include "core/base/units.h"
#include "core/index/alarm.h"
#include "core/index/index_pages.h"

namespace freshet {

// `pages` must outlive this object. Owner thread only.
class PageAlarms {
 public:
  explicit PageAlarms(const IndexPages& pages) : pages_(pages) {}

  // Sets alarms for those times of the page that are after `now`. Precondition: the page has times.
  void Set(PageId page, Instant now) {
    const PageTimes times = *pages_.TimesOf(page);
    for (const Instant at : {times.eligible_from, times.forced_at}) {
      if (at <= now || at.infinite()) continue;
      alarms_.Push({at, page, times.tag}, [this](const auto& alarm) { return Counts(alarm); });
    }
  }
  [[nodiscard]] bool Rings(Instant now) const { return alarms_.Rings(now); }
  // Returns a page with a due alarm. Each alarm that is checked decrements `left`. nullopt = no
  // page is left, or `left` has reached 0.
  [[nodiscard]] std::optional<PageId> NextDue(Instant now, size_t* left) {
    return alarms_.NextDue(now, left, [this](const auto& alarm) { return Counts(alarm); });
  }
  // The number of alarms, including some stale ones.
  [[nodiscard]] size_t size() const { return alarms_.size(); }

 private:
  // Returns true if the alarm still belongs to a time of its page.
  [[nodiscard]] bool Counts(const Alarm<Instant, PageId>& alarm) const {
    const PageTimes* const times = pages_.Has(alarm.id) ? pages_.TimesOf(alarm.id) : nullptr;
    return times != nullptr && times->tag == alarm.tag &&
           (times->eligible_from == alarm.at || times->forced_at == alarm.at);
  }

  const IndexPages& pages_;
  AlarmHeap<Instant, PageId> alarms_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_PAGE_ALARMS_H_
