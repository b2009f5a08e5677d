// Timed work of a shard: leases expire, rates change with age, hosts are forgotten, and deletions
// and new settings proceed in slices.
//
// A deletion is a mark in the stored record of the crawl id or host, so it survives a restart.
// Passes over all pages, one slice every few milliseconds, remove its pages. New pages are refused
// during this time, so the first pass finds all pages.
#ifndef FRESHET_CORE_SCHEDULE_SHARD_TIMERS_H_
#define FRESHET_CORE_SCHEDULE_SHARD_TIMERS_H_

#include <cstddef>
#include <vector>

#include "core/base/units.h"
#include "core/schedule/books.h"
#include "core/schedule/event.h"

namespace freshet {

// See ShardState::TakeDueTimers.
void TakeDueTimers(Instant now, size_t max, Books& books, std::vector<Event>* events);
// The time at which TakeDueTimers next has something to do; infinite = never.
[[nodiscard]] Instant NextTimer(const Books& books);

// Starts a pass over all pages for the marked deletions.
void BeginSweep(Books& books);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SHARD_TIMERS_H_
