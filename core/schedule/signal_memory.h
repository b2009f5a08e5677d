// The memory of a page for signals, so that a repeated signal counts once. The commit of a signal
// stores it with the page, so it outlives restarts and take-overs by another server of a cluster.
// All functions are thread-safe.
#ifndef FRESHET_CORE_SCHEDULE_SIGNAL_MEMORY_H_
#define FRESHET_CORE_SCHEDULE_SIGNAL_MEMORY_H_

#include "core/base/units.h"
#include "core/schedule/event.h"

namespace freshet {

struct PageDetail;
struct PageRecord;

// Whether a signal of the same id and source was taken: among the latest
// limits::kMaxRememberedSignalIds of the page.
[[nodiscard]] bool IsKnown(const SignalChange& signal, const PageDetail& page);

// Whether the source claims nothing newer than by a waiting signal, like a sitemap that repeats its
// lastmod at every poll. Claims of other sources do not count.
[[nodiscard]] bool IsRepeated(const SignalChange& signal, const PageRecord& page);

// Remembers the id of a signal that was taken, or is evidence about its source, so that it never
// counts again.
void RememberId(const SignalChange& signal, PageDetail* page);

// Remembers that the signal waits and claims a change at `time`. Call it before the state of the
// page says so.
void RememberClaim(const SignalChange& signal, Instant time, PageRecord* page);

// Forgets claims after a crawl, except of signals that the state of the page still counts.
void ForgetClaims(PageRecord* page);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SIGNAL_MEMORY_H_
