#include "server/engine/worker_allowance.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/shares.h"

namespace freshet {

std::optional<uint64_t> WorkerAllowances::Apply(const WorkerKey& worker, const LeaseTally& tally) {
  if (tally.answered > 0) Prove(worker);
  Entry& entry = FindOrAdd(worker);
  const bool was_whole = whole(entry.allowance);
  entry.allowance = std::min(limits_.most, entry.allowance + tally.answered);
  for (uint32_t i = 0; i < tally.expired && entry.allowance > 1; ++i) entry.allowance /= 2;
  const uint64_t open = entry.open + tally.opened;
  SetHeld(worker, entry, open - std::min<uint64_t>(tally.ended, open), entry.reserved);
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

std::optional<WorkerAllowances::Full> WorkerAllowances::FullBy(const WorkerKey& worker) const {
  const Entry* entry = Find(worker);
  const uint64_t held = entry == nullptr ? 0 : entry->held();
  if (entry != nullptr && held >= entry->allowance) return Full{held, entry->allowance};
  if (proven(worker)) return std::nullopt;
  const uint64_t of_client = HeldByNewcomersOf(worker.client);
  if (ShareLeft(of_client, newcomer_leases_, limits_.newcomers) > 0) return std::nullopt;
  return Full{of_client, of_client, /*newcomers=*/true};
}

void WorkerAllowances::Reserve(const WorkerKey& worker) {
  DCHECK(!FullBy(worker), "worker {} holds all that it may", worker.name);
  Entry& entry = FindOrAdd(worker);
  SetHeld(worker, entry, entry.open, entry.reserved + 1);
}

void WorkerAllowances::Settle(const WorkerKey& worker) {
  const Entry* found = Find(worker);
  if (found == nullptr) return;  // the entry was dropped to make room for another
  Entry& entry = FindOrAdd(worker);
  if (entry.reserved > 0) SetHeld(worker, entry, entry.open, entry.reserved - 1);
  Forget(worker);
}

const WorkerAllowances::Entry* WorkerAllowances::Find(const WorkerKey& worker) const {
  if (const auto it = proven_.find(worker); it != proven_.end()) return &it->second;
  const auto it = newcomers_.find(worker);
  return it == newcomers_.end() ? nullptr : &it->second;
}

WorkerAllowances::Entry& WorkerAllowances::FindOrAdd(const WorkerKey& worker) {
  if (const auto it = proven_.find(worker); it != proven_.end()) return it->second;
  if (const auto it = newcomers_.find(worker); it != newcomers_.end()) return it->second;
  Entry& entry = Add(worker, limits_.newcomer_names, newcomers_, newcomer_names_);
  entry.allowance = entry.told = limits_.most;
  return entry;
}

void WorkerAllowances::Prove(const WorkerKey& worker) {
  if (proven(worker)) return;
  const Entry entry = FindOrAdd(worker);
  AddToNewcomers(worker.client, 0, entry.held());
  Erase(newcomers_.find(worker), newcomers_, newcomer_names_);
  Add(worker, limits_.proven_names, proven_, proven_names_) = entry;
}

void WorkerAllowances::SetHeld(const WorkerKey& worker, Entry& entry, uint64_t open,
                               uint64_t reserved) {
  if (!proven(worker)) AddToNewcomers(worker.client, open + reserved, entry.held());
  entry.open = open;
  entry.reserved = reserved;
}

void WorkerAllowances::AddToNewcomers(const std::string& client, uint64_t more, uint64_t less) {
  if (more == less) return;
  uint64_t& held = by_client_[client];
  CHECK(held >= less && newcomer_leases_ >= less, "newcomers of {} hold {} leases, not {}", client,
        held, less);
  held += more - less;
  newcomer_leases_ += more - less;
  if (held == 0) by_client_.erase(client);
}

uint64_t WorkerAllowances::HeldByNewcomersOf(const std::string& client) const {
  const auto it = by_client_.find(client);
  return it == by_client_.end() ? 0 : it->second;
}

// Drops a newcomer that has no leases and a whole allowance, because an unknown name is treated in
// the same way.
void WorkerAllowances::Forget(const WorkerKey& worker) {
  const auto it = newcomers_.find(worker);
  if (it == newcomers_.end()) return;
  if (it->second.held() == 0 && whole(it->second.allowance)) {
    Erase(it, newcomers_, newcomer_names_);
  }
}

// A full table drops an entry of the client with the most names, if possible one without leases.
// Only the first kLookedAt entries are compared, and their order is random.
WorkerAllowances::Entry& WorkerAllowances::Add(const WorkerKey& worker, size_t most,
                                               Entries& entries, Names& names) {
  if (entries.size() >= most) {
    constexpr int kLookedAt = 64;
    const auto rank = [&](const Entries::value_type& entry) {
      return std::pair(names.at(entry.first.client), entry.second.held() == 0);
    };
    auto victim = entries.begin();
    int looked = 0;
    for (auto it = entries.begin(); it != entries.end() && looked < kLookedAt; ++it, ++looked) {
      if (rank(*it) > rank(*victim)) victim = it;
    }
    if (!whole(victim->second.allowance)) --reduced_;
    if (&entries == &newcomers_) AddToNewcomers(victim->first.client, 0, victim->second.held());
    Erase(victim, entries, names);
  }
  ++names[worker.client];
  return entries[worker];
}

void WorkerAllowances::Erase(Entries::iterator entry, Entries& entries, Names& names) {
  const auto its = names.find(entry->first.client);
  if (--its->second == 0) names.erase(its);
  entries.erase(entry);
}

}  // namespace freshet
