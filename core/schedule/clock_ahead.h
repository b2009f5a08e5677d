// Repairs stored times that are later than now. They were written while the server's clock ran
// ahead, before it was set back. Without the repair, a page would wait, its signals would look
// stale and its lease would last until that time. The repair moves future events to now, and
// restarts waits that began while the clock was ahead. All functions are thread-safe.
#ifndef FRESHET_CORE_SCHEDULE_CLOCK_AHEAD_H_
#define FRESHET_CORE_SCHEDULE_CLOCK_AHEAD_H_

#include "core/base/units.h"

namespace freshet {

struct HostRecord;
struct LeaseRecord;
struct PageRecord;
struct PageState;

// The largest normal difference between the clocks of a server and of the server that takes over
// from it.
inline constexpr Duration kClocksDiffer = Duration::Seconds(1);

// Returns how far the page's times are ahead of `now`; 0 = within the normal difference of clocks.
// Only times from the server's clock count.
[[nodiscard]] Duration AheadOf(Instant now, const PageState& page);

// Changes the record so that none of its times is later than `now`. Returns how far its times were
// ahead; 0 = nothing was ahead and nothing has changed. Drops observations from the future.
Duration CapAtNow(Instant now, PageState* page);
Duration CapAtNow(Instant now, PageRecord* page);
// Keeps a lease that is ahead by no more than the normal difference of clocks, because its worker
// knows its deadline.
Duration CapAtNow(Instant now, LeaseRecord* lease);
// Keeps blocks that do not come from answers of the host: an operator might have set them.
Duration CapAtNow(Instant now, HostRecord* host);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_CLOCK_AHEAD_H_
