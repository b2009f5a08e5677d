#include "core/schedule/gated_host.h"

#include <algorithm>

#include "core/schedule/host_rules.h"

namespace freshet {
namespace {

// When the delay after an assignment ends; none = there was no assignment.
Instant Delayed(Duration delay, Instant last) { return last == Instant() ? last : last + delay; }

bool IsFull(const GatedHost& host, const HostTerms& terms) {
  const uint32_t limit = terms.max_in_flight.value;
  return limit != 0 && host.in_flight >= limit;
}

// Like RestedAt, but picks count as assignments for the delay too.
Instant PickableAt(const GatedHost& host, const HostTerms& terms) {
  return std::max(RestedAt(host, terms), Delayed(terms.min_delay.value, host.last_pick));
}

}  // namespace

Instant RestedAt(const GatedHost& host, const HostTerms& terms) {
  const HostRecord& record = host.record;
  const Instant delayed = Delayed(terms.min_delay.value, record.last_assignment);
  // The cap counts picks like assignments.
  const Instant capped =
      CapAllows(terms.max_crawls.value, record.recent_crawls, host.picks, host.last_pick);
  return std::max({record.blocked_until, delayed, capped});
}

Instant FreeAt(const GatedHost& host, const HostTerms& terms, Instant now) {
  if (IsFull(host, terms)) return Instant::Infinite();
  const Instant free = PickableAt(host, terms);
  const DayHours& hours = terms.hours.value;
  return hours.always() ? free : hours.NextOpen(std::max(free, now));
}

Instant AllowedAt(const GatedHost& host, const HostTerms& terms, Instant now) {
  return terms.hours.value.NextOpen(std::max(RestedAt(host, terms), now));
}

HostStanding StandingOf(const GatedHost& host, const HostTerms& terms, Instant group_free,
                        Instant now) {
  if (host.record.blocked_until > now) return HostStanding::kBlocked;
  if (IsFull(host, terms)) return HostStanding::kInFlight;
  if (PickableAt(host, terms) > now) return HostStanding::kDelayed;
  if (terms.hours.value.NextOpen(now) > now) return HostStanding::kHours;
  return group_free <= now ? HostStanding::kFree : HostStanding::kGroup;
}

Duration HostSpacing(const HostTerms& terms) {
  // An assignment leaves at most this long after its tick.
  constexpr Duration kLatest = Duration::Seconds(1);
  const CrawlCap& cap = terms.max_crawls.value;
  return cap.per <= kLatest ? std::max(terms.min_delay.value, cap.per) : terms.min_delay.value;
}

std::optional<Duration> OwnPageInterval(const GatedHost& host) {
  if (host.record.min_page_interval) return host.record.min_page_interval;
  return host.rule == nullptr ? std::nullopt : host.rule->min_page_interval;
}

}  // namespace freshet
