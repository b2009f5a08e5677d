#include "core/schedule/shard_counters.h"

namespace freshet {
namespace {

constexpr uint64_t EventCounts::*kAllCounts[] = {
    &EventCounts::assignments,
    &EventCounts::expired_leases,
    &EventCounts::returned_leases,
    &EventCounts::given_up,
    &EventCounts::changed,
    &EventCounts::unchanged,
    &EventCounts::errors,
    &EventCounts::throttled,
    &EventCounts::gone,
    &EventCounts::robots_denied,
    &EventCounts::duplicate_results,
    &EventCounts::late_results,
    &EventCounts::signals_applied,
    &EventCounts::signals_stale,
    &EventCounts::signals_duplicate,
    &EventCounts::signals_unknown_url,
};
static_assert(sizeof(kAllCounts) / sizeof(*kAllCounts) * sizeof(uint64_t) == sizeof(EventCounts));

}  // namespace

EventCounts& EventCounts::operator+=(const EventCounts& other) {
  for (const auto count : kAllCounts) this->*count += other.*count;
  return *this;
}

}  // namespace freshet
