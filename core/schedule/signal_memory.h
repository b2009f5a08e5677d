// The memory of a page for signals, which makes a repeated signal count only once. It is stored
// with the page when the signal is committed, so it survives restarts and failovers to another
// server of a cluster. All functions are thread-safe.
#ifndef FRESHET_CORE_SCHEDULE_SIGNAL_MEMORY_H_
#define FRESHET_CORE_SCHEDULE_SIGNAL_MEMORY_H_

#include "core/base/units.h"
#include "core/schedule/event.h"

namespace freshet {

struct PageDetail;
struct PageRecord;

// Returns true if a signal with the same id and source is among the latest
// limits::kMaxRememberedSignalIds of the page.
[[nodiscard]] bool IsKnown(const SignalChange& signal, const PageDetail& page);

// Returns true if the source has a waiting signal that claims the same or a later change. An
// example is a sitemap that repeats its lastmod at every poll. Claims of other sources are ignored.
[[nodiscard]] bool IsRepeated(const SignalChange& signal, const PageRecord& page);

// Remembers the id of a signal that was applied or that counted as evidence about its source, so
// that the signal never counts again.
void RememberId(const SignalChange& signal, PageDetail* page);

// Remembers that the signal waits and claims a change at `time`. Call it before you add the signal
// to the page's state.
void RememberClaim(const SignalChange& signal, Instant time, PageRecord* page);

// Forgets claims after a crawl, except those of sources with signals that still wait.
void ForgetClaims(PageRecord* page);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SIGNAL_MEMORY_H_
