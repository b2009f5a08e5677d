// Times that are later than now: a clock that ran ahead has left them behind, and was set back.
// Left as they are, a page would wait, its signals be stale, and a lease last, until that time
// comes. They count as if what they tell of had happened as of the start, and waits that began then
// begin anew. All functions are thread-safe.
#ifndef FRESHET_CORE_SCHEDULE_CLOCK_AHEAD_H_
#define FRESHET_CORE_SCHEDULE_CLOCK_AHEAD_H_

#include "core/base/units.h"

namespace freshet {

struct HostRecord;
struct LeaseRecord;
struct PageRecord;
struct PageState;

// The clocks of two servers, one of which takes the place of the other, may differ by this.
inline constexpr Duration kClocksDiffer = Duration::Seconds(1);

// By how much what the server's clock gave the page is later than `now`; zero: by no more than
// clocks differ.
[[nodiscard]] Duration AheadOf(Instant now, const PageState& page);

// The record as one of a clock that shows `now`. By how much it was ahead; zero: not at all, and
// nothing is changed. What crawls of a page observed meanwhile is dropped.
Duration CapAtNow(Instant now, PageState* page);
Duration CapAtNow(Instant now, PageRecord* page);
// A lease that is ahead by no more than clocks differ stays as it is: its worker knows its
// deadline.
Duration CapAtNow(Instant now, LeaseRecord* lease);
// But for what holds a host without having paused it for its answers: that may be meant so.
Duration CapAtNow(Instant now, HostRecord* host);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_CLOCK_AHEAD_H_
