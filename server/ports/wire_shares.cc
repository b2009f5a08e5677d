#include "server/ports/wire_shares.h"

#include <algorithm>

#include "core/base/shares.h"

namespace freshet {
namespace {

constexpr uint64_t PlacesOf(uint64_t held, uint64_t per_place) {
  return (held + per_place - 1) / per_place;
}

WireHeld PlacesOf(const WireHeld& held) {
  return {.calls = PlacesOf(held.calls, WireShares::kCallsPerPlace),
          .bytes = PlacesOf(held.bytes, WireShares::kBytesPerPlace)};
}

// Returns true if a network may change its number of places from `before` to `now`.
bool Fits(uint64_t now, uint64_t before, uint64_t taken, uint64_t most) {
  return now <= before || now - before <= ShareLeft(before, taken, most);
}

// The counted part of `held`: the amount beyond `free`, rounded up to a multiple of `free`. It
// decreases only if the amount has fallen by more than one step, so that small changes are not
// reported.
uint64_t Counted(uint64_t held, uint64_t free, uint64_t counted) {
  const uint64_t beyond = held - std::min(held, free);
  const uint64_t now = PlacesOf(beyond, free) * free;
  return now < counted && counted - beyond <= 2 * free && beyond > 0 ? counted : now;
}

}  // namespace

void WireShares::SetMost(const WireHeld& most) {
  const MutexLock lock(mutex_);
  most_ = PlacesOf(most);
}

std::string_view WireShares::Change(const IpAddress& network, const WireHeld& before,
                                    const WireHeld& now) {
  const MutexLock lock(mutex_);
  WireHeld& held = by_network_[network];
  const WireHeld next = {.calls = held.calls - before.calls + now.calls,
                         .bytes = held.bytes - before.bytes + now.bytes};
  const WireHeld had = PlacesOf(held);
  const WireHeld has = PlacesOf(next);
  std::string_view excess;
  if (!Fits(has.calls, had.calls, places_.calls, most_.calls)) {
    excess = "calls whose answers it does not take";
  } else if (!Fits(has.bytes, had.bytes, places_.bytes, most_.bytes)) {
    excess = "messages at a time that are not whole";
  } else {
    places_.calls += has.calls - had.calls;
    places_.bytes += has.bytes - had.bytes;
    held = next;
  }
  if (held == WireHeld()) by_network_.erase(network);
  return excess;
}

WireAccount::~WireAccount() {
  if (told_ != WireHeld()) (void)shares_->Change(network_, told_, {});
}

std::string_view WireAccount::Hold(const WireHeld& held) {
  if (shares_ == nullptr) return {};
  const WireHeld now = {.calls = Counted(held.calls, kFree.calls, told_.calls),
                        .bytes = Counted(held.bytes, kFree.bytes, told_.bytes)};
  if (now == told_) return {};
  const std::string_view excess = shares_->Change(network_, told_, now);
  if (excess.empty()) told_ = now;
  return excess;
}

}  // namespace freshet
