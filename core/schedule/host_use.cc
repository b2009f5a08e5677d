#include "core/schedule/host_use.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/schedule/host_backoff.h"

namespace freshet {
namespace {

// Returns true if the record has nothing that must be kept once its delays and pauses have ended.
bool IsPlain(const HostRecord& record) {
  // Clears the known fields and compares with an empty record, so that fields added later count as
  // settings.
  HostRecord plain = record;
  plain.blocked_until = plain.last_assignment = plain.last_throttled = Instant();
  plain.throttles = 0;
  plain.recent_crawls.clear();
  // A worker that fetches from the host again will report these again.
  plain.crawl_delay = Duration();
  plain.address = IpAddress();
  return plain == HostRecord{.host = record.host};
}

}  // namespace

HostUse::State& HostUse::Of(HostId host) {
  if (host.value() >= states_.size()) states_.GrowTo(gate_.id_limit());
  return states_.at(host.value());
}

bool HostUse::IsIdle(HostId host) const {
  const GatedHost& gated = gate_.host(host);
  return pages(host) == 0 && gated.in_flight == 0 && !gated.record.host.empty() &&
         IsPlain(gated.record);
}

Instant HostUse::ForgottenAt(HostId host) const {
  const GatedHost& gated = gate_.host(host);
  const HostRecord& record = gated.record;
  const HostTerms terms = gate_.TermsOf(host);
  Instant at = RestedAt(gated, terms);
  if (!record.recent_crawls.empty()) {
    at = std::max(at, record.recent_crawls.back().last + terms.max_crawls.value.per);
  }
  // Throttled answers stop counting one by one, each after another quiet time.
  return std::max(at, QuietSince(record) + forgiven_in_ * record.throttles);
}

void HostUse::Become(State& state, Use use, TakenPlaces* places) {
  const Use before = std::exchange(state.use, use);
  if (before == Use::kAtRest) --at_rest_;
  if (use == Use::kAtRest) ++at_rest_;
  if (quota_ == nullptr || (before == Use::kCounts) == (use == Use::kCounts)) return;
  if (use != Use::kCounts) return quota_->Give(1);
  // A place that was taken in advance is already counted.
  if (places == nullptr || !places->Use(quota_.get())) quota_->Add(1);
}

void HostUse::Schedule(HostId host, State& state, Instant until) {
  const Instant before = std::exchange(state.until, until);
  if (before == until) return;
  if (!before.infinite()) resting_.erase({before, host});
  if (!until.infinite()) resting_.emplace(until, host);
}

void HostUse::AddPage(HostId host, TakenPlaces* places) {
  State& state = Of(host);
  ++state.pages;
  Become(state, Use::kCounts, places);
  Schedule(host, state, Instant::Infinite());
}

void HostUse::RemovePage(HostId host) {
  State& state = Of(host);
  CHECK(state.pages > 0, "host {} has no page", gate_.host(host).record.host);
  --state.pages;
  Rest(host);
}

void HostUse::Rest(HostId host) {
  State& state = Of(host);
  if (gate_.host(host).record.host.empty()) return;
  Become(state, IsIdle(host) ? Use::kAtRest : Use::kCounts);
  Schedule(host, state, state.pages > 0 ? Instant::Infinite() : ForgottenAt(host));
}

void HostUse::TakeRested(Instant now, size_t max, std::vector<HostId>* hosts) {
  for (; max > 0 && next_rested() <= now; --max) {
    const auto [until, host] = *resting_.begin();
    State& state = Of(host);
    const Instant forgotten = ForgottenAt(host);
    if (forgotten > std::max(until, now)) {
      Schedule(host, state, forgotten);
      continue;
    }
    Schedule(host, state, Instant::Infinite());
    if (!IsIdle(host)) continue;
    if (until > now) Become(state, Use::kLeaves);
    hosts->push_back(host);
  }
}

bool HostUse::CanForget(HostId host, Instant now) const {
  return IsIdle(host) && (StateOf(host).use == Use::kLeaves || ForgottenAt(host) <= now);
}

void HostUse::Forget(HostId host) {
  State& state = Of(host);
  CHECK(state.pages == 0, "host {} is in use", gate_.host(host).record.host);
  Become(state, Use::kNone);
  Schedule(host, state, Instant::Infinite());
  gate_.Forget(host);
}

}  // namespace freshet
