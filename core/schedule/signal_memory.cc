#include "core/schedule/signal_memory.h"

#include <algorithm>

#include "core/base/limits.h"
#include "core/model/page.h"

namespace freshet {
namespace {

// 32 bits are enough to distinguish the ids of one source and page: a false match has a probability
// of one in four billion.
SignalId IdOf(const SignalChange& signal) {
  return {.source = signal.source, .hash = static_cast<uint32_t>(signal.signal_id_hash)};
}

bool Waits(uint8_t source, const SignalCounts& signals) {
  const auto& entries = signals.entries();
  return std::any_of(entries.begin(), entries.end(), [&](const SignalCounts::Entry& entry) {
    return entry.count > 0 && entry.source_class.source() == source;
  });
}

// The position of the source among the claims, which are sorted by source.
std::vector<SourceClaim>::iterator PlaceOf(uint8_t source, std::vector<SourceClaim>& claims) {
  return std::lower_bound(
      claims.begin(), claims.end(), source,
      [](const SourceClaim& claim, uint8_t value) { return claim.source < value; });
}

}  // namespace

bool IsKnown(const SignalChange& signal, const PageDetail& page) {
  if (signal.signal_id_hash == 0) return false;
  const auto& ids = page.signal_ids;
  return std::find(ids.begin(), ids.end(), IdOf(signal)) != ids.end();
}

bool IsRepeated(const SignalChange& signal, const PageRecord& page) {
  if (!signal.changed || !Waits(signal.source, page.state.signals)) return false;
  const auto& claims = page.detail.claims;
  const auto claim = std::find_if(claims.begin(), claims.end(), [&](const SourceClaim& its) {
    return its.source == signal.source;
  });
  return *signal.changed <= (claim == claims.end() ? page.state.newest_claim : claim->newest);
}

void RememberId(const SignalChange& signal, PageDetail* page) {
  if (signal.signal_id_hash == 0) return;
  if (page->signal_ids.size() >= limits::kMaxRememberedSignalIds) {
    page->signal_ids.erase(page->signal_ids.begin());
  }
  page->signal_ids.push_back(IdOf(signal));
}

void RememberClaim(const SignalChange& signal, Instant time, PageRecord* page) {
  std::vector<SourceClaim>& claims = page->detail.claims;
  auto claim = PlaceOf(signal.source, claims);
  if (claim == claims.end() || claim->source != signal.source) {
    // The row is from an old release, which stored no claims by source.
    const bool waits = Waits(signal.source, page->state.signals);
    const Instant before = waits ? page->state.newest_claim : Instant();
    claim = claims.insert(claim, SourceClaim{.source = signal.source, .newest = before});
  }
  claim->newest = std::max(claim->newest, time);
}

void ForgetClaims(PageRecord* page) {
  std::erase_if(page->detail.claims, [&](const SourceClaim& claim) {
    return !Waits(claim.source, page->state.signals);
  });
}

}  // namespace freshet
