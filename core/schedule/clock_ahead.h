// Repairs times that are later than now: a clock that ran ahead has left them behind, and was set
// back. Unrepaired, a page would wait, its signals be stale, and a lease last, until that time
// comes. Such events count as of the start, and waits that began then begin again. All functions
// are thread-safe.
#ifndef FRESHET_CORE_SCHEDULE_CLOCK_AHEAD_H_
#define FRESHET_CORE_SCHEDULE_CLOCK_AHEAD_H_

#include "core/base/units.h"

namespace freshet {

struct HostRecord;
struct LeaseRecord;
struct PageRecord;
struct PageState;

// The most by which the clocks of a server and its successor may differ.
inline constexpr Duration kClocksDiffer = Duration::Seconds(1);

// The lead of the page's times, as far as the server's clock gave them, over `now`; 0 = no more
// than clocks differ.
[[nodiscard]] Duration AheadOf(Instant now, const PageState& page);

// Changes the record to one of a clock that shows `now`. Returns the lead of its times; 0 = none,
// and nothing is changed. Observations made while the clock was ahead are dropped.
Duration CapAtNow(Instant now, PageState* page);
Duration CapAtNow(Instant now, PageRecord* page);
// A lease that is ahead by no more than clocks differ stays, because its worker knows its deadline.
Duration CapAtNow(Instant now, LeaseRecord* lease);
// Keeps blocks that did not come from answers of the host: they may be intended.
Duration CapAtNow(Instant now, HostRecord* host);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_CLOCK_AHEAD_H_
