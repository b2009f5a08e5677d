// What a page remembers of signals, so that one that is sent again counts once. It is stored with
// the page by the same commit as the signal itself, so it outlives restarts and comes along where
// another server of a cluster takes over. All functions are thread-safe.
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

// Whether its source claims nothing newer than by a signal that waits, as a sitemap does that
// repeats its lastmod at every poll. What other sources claim does not count.
[[nodiscard]] bool IsRepeated(const SignalChange& signal, const PageRecord& page);

// The signal is taken, or is evidence of its source: its id is not to count again.
void RememberId(const SignalChange& signal, PageDetail* page);

// The signal waits, and claims a change at `time`. Before the state of the page says so.
void RememberClaim(const SignalChange& signal, Instant time, PageRecord* page);

// A crawl has ended the wait of all signals but those that the state of the page still counts.
void ForgetClaims(PageRecord* page);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SIGNAL_MEMORY_H_
