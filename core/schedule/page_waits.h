// The waits of a page after a crawl without success: after an error, after a lease without result,
// and while it is gone. Each wait doubles with every further time in a row. The last argument is
// the staged page.
#ifndef FRESHET_CORE_SCHEDULE_PAGE_WAITS_H_
#define FRESHET_CORE_SCHEDULE_PAGE_WAITS_H_

#include "core/base/units.h"
#include "core/estimate/lessons.h"
#include "core/model/page.h"
#include "core/schedule/books.h"
#include "core/schedule/event.h"

namespace freshet {

// Waits after a failed crawl.
void WaitAfterError(const ReportCrawl& report, Instant now, const Books& books, PageRecord& page);
// Waits while the host's robots.txt forbids the page, at least for `asked`.
void WaitWhileDenied(Duration asked, Instant now, const Books& books, PageRecord& page);
// Waits after a crawl found the page gone or moved.
void WaitWhileGone(CrawlOutcome outcome, Duration asked, Instant now, const Books& books,
                   PageRecord& page);
// Gives a turn to a page that was found gone by an old release, which never looked again. `state`
// is that of the page.
void PlanLookForGone(Instant now, const PageRecord& page, const ShardOptions& options,
                     PageState& state);
// Ends the wait of a gone page that a client or a source believes to exist.
void BringBack(Instant now, const Books& books, PageRecord& page);
// Waits after a lease that ran out. True = after max_unanswered in a row, the page waits for its
// normal turn.
[[nodiscard]] bool WaitUnanswered(Instant now, const Books& books, PageRecord& page);
// Waits after a returned lease.
void WaitReturned(Instant now, const Books& books, PageState& state);

// Learns from a crawl of a gone page how likely such pages come back.
void LearnFromLook(const PageRecord& page, Instant at, bool returned, const Books& books,
                   Lessons& lessons);
// The known time for which a gone page, which waits for `wait`, has been gone at `at`.
[[nodiscard]] Duration GoneFor(const PageState& state, Instant at, Duration wait);
// The time for which a gone page is not looked for, without the terms of its spec and host.
[[nodiscard]] Duration GoneWait(const PageState& state, const ShardOptions& options);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PAGE_WAITS_H_
