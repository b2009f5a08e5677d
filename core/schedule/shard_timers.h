// Timed work of a shard: leases run out, rates change by age, hosts are forgotten, and deletions
// and new settings proceed in slices.
//
// A deletion is a mark in the stored record of the crawl id or host, so that it outlives a restart.
// Meanwhile passes over all pages, a slice every few milliseconds, remove its pages. New pages are
// refused meanwhile, so the first pass finds all.
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
// When TakeDueTimers next has something to do.
[[nodiscard]] Instant NextTimer(const Books& books);

// Begins a pass for the marked deletions.
void BeginSweep(Books& books);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SHARD_TIMERS_H_
