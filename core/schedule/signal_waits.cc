#include "core/schedule/signal_waits.h"

#include <algorithm>

#include "core/base/check.h"

namespace freshet {

void SignalWaits::Begin(PageId id, uint64_t fingerprint, Instant now) {
  if (fingerprint > highest_) return;
  CHECK(!now.is_none() && !now.infinite(), "a wait from no instant");
  waiting_.try_emplace(id, Wait{fingerprint, now});
  // Stops at fingerprint 0: in a store that was tampered with, more pages than fit can have this
  // fingerprint.
  while (waiting_.size() > kMaxSample && highest_ > 0) Halve();
}

void SignalWaits::End(PageId id, Instant fetched, bool more) {
  const auto it = waiting_.find(id);
  if (it == waiting_.end()) return;
  const Instant since = it->second.since;
  if (since > fetched && more) return;
  // The signal might have come after the fetch, while the page was leased. If no signal is left,
  // the fetch has already seen the change.
  counts_.Add(std::max(0.0, (fetched - since).seconds()), weight_);
  waiting_.erase(it);
}

Duration SignalWaits::Longest(Instant now) const {
  Instant first = now;
  for (const auto& [id, wait] : waiting_) first = std::min(first, wait.since);
  return now - first;
}

void SignalWaits::Halve() {
  highest_ /= 2;
  weight_ *= 2;
  absl::erase_if(waiting_,
                 [this](const auto& entry) { return entry.second.fingerprint > highest_; });
}

}  // namespace freshet
