#include "server/engine/worker_allowance.h"

#include <algorithm>

#include "core/base/check.h"

namespace freshet {

std::optional<uint64_t> WorkerAllowances::Apply(const std::string& worker,
                                                const LeaseTally& tally) {
  Entry& entry = Find(worker);
  const bool was_whole = whole(entry.allowance);
  entry.open += tally.opened;
  entry.allowance = std::min(most_, entry.allowance + tally.answered);
  for (uint32_t i = 0; i < tally.expired && entry.allowance > 1; ++i) entry.allowance /= 2;
  entry.open -= std::min<uint64_t>(tally.ended, entry.open);
  if (was_whole && !whole(entry.allowance)) ++reduced_;
  if (!was_whole && whole(entry.allowance)) --reduced_;
  std::optional<uint64_t> told;
  const bool recovered = whole(entry.allowance) && !whole(entry.told);
  if (entry.allowance <= entry.told / 2 || entry.allowance / 2 >= entry.told || recovered) {
    told = entry.told = entry.allowance;
  }
  Forget(worker);
  return told;
}

bool WorkerAllowances::Reserve(const std::string& worker) {
  if (!HasRoom(worker)) return false;
  ++Find(worker).reserved;
  return true;
}

void WorkerAllowances::Settle(const std::string& worker) {
  const auto it = entries_.find(worker);
  if (it == entries_.end()) return;  // made room for another
  if (it->second.reserved > 0) --it->second.reserved;
  Forget(worker);
}

bool WorkerAllowances::HasRoom(const std::string& worker) const {
  const auto it = entries_.find(worker);
  return it == entries_.end() || it->second.open + it->second.reserved < it->second.allowance;
}

WorkerAllowances::Entry& WorkerAllowances::Find(const std::string& worker) {
  if (const auto it = entries_.find(worker); it != entries_.end()) return it->second;
  if (entries_.size() >= names_) MakeRoom();
  return entries_.emplace(worker, Entry{.allowance = most_, .told = most_}).first->second;
}

// A worker of which there is nothing to remember is as good as a new one.
void WorkerAllowances::Forget(const std::string& worker) {
  const auto it = entries_.find(worker);
  CHECK(it != entries_.end());
  const Entry& entry = it->second;
  if (entry.open == 0 && entry.reserved == 0 && whole(entry.allowance)) entries_.erase(it);
}

// Rather one that holds nothing; which one is left to chance.
void WorkerAllowances::MakeRoom() {
  constexpr int kLookedAt = 64;
  auto victim = entries_.begin();
  int looked = 0;
  for (auto it = entries_.begin(); it != entries_.end() && looked < kLookedAt; ++it, ++looked) {
    if (it->second.open + it->second.reserved > 0) continue;
    victim = it;
    break;
  }
  if (!whole(victim->second.allowance)) --reduced_;
  entries_.erase(victim);
}

}  // namespace freshet
