// Files pages: makes the entries for the index, the plan and the other books from the record of a
// page.
#ifndef FRESHET_CORE_SCHEDULE_FILING_H_
#define FRESHET_CORE_SCHEDULE_FILING_H_

#include "core/base/units.h"
#include "core/index/index_entry.h"
#include "core/model/page.h"
#include "core/model/page_number.h"
#include "core/schedule/books.h"
#include "core/schedule/page_to_load.h"

namespace freshet {

// The entry of a page, without the page interval of its host and crawl id.
[[nodiscard]] IndexEntry MakeEntry(const PageSpec& spec, const PageState& state, HostId host,
                                   CrawlClass crawl_class, const Books& books);
// The entry as it is filed: MakeEntry, delayed by the page interval.
[[nodiscard]] IndexEntry EntryOf(PageId id, const PageSpec& spec, const PageState& state,
                                 HostId host, const Books& books);
// Does most of the work of filing a page. Several threads can call it at the same time while no
// thread changes policies, learning or urgencies.
[[nodiscard]] PageToLoad PrepareLoad(PageNumber number, uint64_t fingerprint, HostId host,
                                     const PageSpec& spec, const PageState& state,
                                     CrawlClass crawl_class, const Books& books);
// Makes the page wait until `interval` after its last crawl. No-op if `last_crawl` is none.
void Hold(IndexEntry* entry, Instant last_crawl, Duration interval);
// The time at which a signal since the last crawl asked for a crawl under the plan
// (core/plan/plan_queue.h); infinite = no signal did. If the plan crawls a page only on signals,
// the page also asks for its first crawl, as of the time when it was first seen.
[[nodiscard]] Instant AskedAt(PageId id, const PageState& state, const Books& books);
// The minimum time between two crawls of a page of this host and crawl id.
[[nodiscard]] Duration IntervalOf(CrawlIndex crawl, HostId host, const Books& books);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_FILING_H_
