// Files pages: makes the entries of index, plan and the other books of pages from its record.
#ifndef FRESHET_CORE_SCHEDULE_FILING_H_
#define FRESHET_CORE_SCHEDULE_FILING_H_

#include "core/base/units.h"
#include "core/index/index_entry.h"
#include "core/model/page.h"
#include "core/model/page_number.h"
#include "core/schedule/books.h"
#include "core/schedule/page_to_load.h"

namespace freshet {

// The entry of a page without the terms of its host.
[[nodiscard]] IndexEntry MakeEntry(const PageSpec& spec, const PageState& state, HostId host,
                                   CrawlClass crawl_class, const Books& books);
// The entry as filed, held by the page interval of its host.
[[nodiscard]] IndexEntry EntryOf(PageId id, const PageSpec& spec, const PageState& state,
                                 HostId host, const Books& books);
// Does most of the work of filing a page. Several threads may call it while nobody changes
// policies, learning and urgencies.
[[nodiscard]] PageToLoad PrepareLoad(PageNumber number, uint64_t fingerprint, HostId host,
                                     const PageSpec& spec, const PageState& state,
                                     CrawlClass crawl_class, const Books& books);
// Makes the page wait for `interval` after its last crawl; none = no wait.
void Hold(IndexEntry* entry, Instant last_crawl, Duration interval);
// When a signal since the last crawl asked for a crawl by the plan; infinite = none did. A page
// that the plan crawls on signals alone asks, before its first crawl, from the time it was first
// seen.
[[nodiscard]] Instant AskedAt(PageId id, const PageState& state, const Books& books);
// The least time between two crawls of a page of this host and crawl id.
[[nodiscard]] Duration IntervalOf(CrawlIndex crawl, HostId host, const Books& books);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_FILING_H_
