// How long a page waits after a crawl without success: after an error, after a lease without a
// result, and while it is gone. A wait doubles each time the same thing happens again in a row.
// `page` or `state` is the staged page or its state, which the functions change.
#ifndef FRESHET_CORE_SCHEDULE_PAGE_WAITS_H_
#define FRESHET_CORE_SCHEDULE_PAGE_WAITS_H_

#include "core/base/units.h"
#include "core/estimate/lessons.h"
#include "core/model/page.h"
#include "core/schedule/books.h"
#include "core/schedule/event.h"

namespace freshet {

// Sets the wait after a failed crawl.
void WaitAfterError(const ReportCrawl& report, Instant now, const Books& books, PageRecord& page);
// Sets the wait while the host's robots.txt forbids the page: at least `asked`.
void WaitWhileDenied(Duration asked, Instant now, const Books& books, PageRecord& page);
// Sets the wait after a crawl that found the page gone or moved: at least `asked`.
void WaitWhileGone(CrawlOutcome outcome, Duration asked, Instant now, const Books& books,
                   PageRecord& page);
// If an old release found the page gone, schedules its next crawl, because that release never
// crawled gone pages again. No-op for other pages. `state` is the state of `page`.
void PlanLookForGone(Instant now, const PageRecord& page, const ShardOptions& options,
                     PageState& state);
// Ends the wait of a gone page because a client or a source says that it exists.
void BringBack(Instant now, const Books& books, PageRecord& page);
// Sets the wait after a lease that expired. Returns true if at least max_unanswered leases in a row
// have now gone unanswered: the page then waits as long as after a successful crawl.
[[nodiscard]] bool WaitUnanswered(Instant now, const Books& books, PageRecord& page);
// Sets the wait after a returned lease.
void WaitReturned(Instant now, const Books& books, PageState& state);

// Learns from a crawl of a gone page how likely it is that gone pages come back.
void LearnFromLook(const PageRecord& page, Instant at, bool returned, const Books& books,
                   Lessons& lessons);
// The time for which a gone page is known to have been gone at `at`. `wait` is its present wait.
[[nodiscard]] Duration GoneFor(const PageState& state, Instant at, Duration wait);
// How long a gone page waits before it is crawled again, without the terms of its spec and host.
[[nodiscard]] Duration GoneWait(const PageState& state, const ShardOptions& options);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PAGE_WAITS_H_
