#include "server/engine/worker_allowance.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace freshet {

std::optional<uint64_t> WorkerAllowances::Apply(const std::string& worker,
                                                const LeaseTally& tally) {
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

std::optional<WorkerAllowances::Full> WorkerAllowances::FullBy(const std::string& worker,
                                                               const std::string& address) const {
  const Entry* entry = Find(worker);
  const uint64_t held = entry == nullptr ? 0 : entry->held();
  if (entry != nullptr && held >= entry->allowance) return Full{held, entry->allowance};
  if (proven(worker)) return std::nullopt;
  const uint64_t of_address = HeldByNewcomersOf(held > 0 ? entry->address : address);
  if (of_address + newcomer_leases_ < limits_.newcomers) return std::nullopt;
  // What others hold is not for this address, and of the rest it leaves half.
  const uint64_t others = newcomer_leases_ - of_address;
  const uint64_t left = limits_.newcomers - std::min(limits_.newcomers, others);
  return Full{of_address, (left + 1) / 2, /*newcomers=*/true};
}

void WorkerAllowances::Reserve(const std::string& worker, const std::string& address) {
  DCHECK(!FullBy(worker, address), "worker {} holds all that it may", worker);
  Entry& entry = FindOrAdd(worker);
  if (entry.held() == 0) entry.address = address;
  SetHeld(worker, entry, entry.open, entry.reserved + 1);
}

void WorkerAllowances::Settle(const std::string& worker) {
  const Entry* found = Find(worker);
  if (found == nullptr) return;  // made room for another
  Entry& entry = FindOrAdd(worker);
  if (entry.reserved > 0) SetHeld(worker, entry, entry.open, entry.reserved - 1);
  Forget(worker);
}

const WorkerAllowances::Entry* WorkerAllowances::Find(const std::string& worker) const {
  if (const auto it = proven_.find(worker); it != proven_.end()) return &it->second;
  const auto it = newcomers_.find(worker);
  return it == newcomers_.end() ? nullptr : &it->second;
}

WorkerAllowances::Entry& WorkerAllowances::FindOrAdd(const std::string& worker) {
  if (const auto it = proven_.find(worker); it != proven_.end()) return it->second;
  if (const auto it = newcomers_.find(worker); it != newcomers_.end()) return it->second;
  MakeRoom(newcomers_, limits_.newcomer_names);
  Entry& entry = newcomers_[worker];
  entry.allowance = entry.told = limits_.most;
  return entry;
}

void WorkerAllowances::Prove(const std::string& worker) {
  if (proven(worker)) return;
  Entry entry = FindOrAdd(worker);
  AddToNewcomers(entry.address, 0, entry.held());
  entry.address.clear();
  newcomers_.erase(worker);
  MakeRoom(proven_, limits_.proven_names);
  proven_.emplace(worker, std::move(entry));
}

void WorkerAllowances::SetHeld(const std::string& worker, Entry& entry, uint64_t open,
                               uint64_t reserved) {
  if (!proven(worker)) AddToNewcomers(entry.address, open + reserved, entry.held());
  entry.open = open;
  entry.reserved = reserved;
}

void WorkerAllowances::AddToNewcomers(const std::string& address, uint64_t more, uint64_t less) {
  if (more == less) return;
  uint64_t& held = by_address_[address];
  CHECK(held >= less && newcomer_leases_ >= less, "newcomers of {} hold {} leases, not {}", address,
        held, less);
  held += more - less;
  newcomer_leases_ += more - less;
  if (held == 0) by_address_.erase(address);
}

uint64_t WorkerAllowances::HeldByNewcomersOf(const std::string& address) const {
  const auto it = by_address_.find(address);
  return it == by_address_.end() ? 0 : it->second;
}

// A newcomer of which there is nothing to remember is as good as a new one.
void WorkerAllowances::Forget(const std::string& worker) {
  const auto it = newcomers_.find(worker);
  if (it == newcomers_.end()) return;
  if (it->second.held() == 0 && whole(it->second.allowance)) newcomers_.erase(it);
}

// Rather one that holds nothing; which one is left to chance.
void WorkerAllowances::MakeRoom(Entries& entries, size_t most) {
  if (entries.size() < most) return;
  constexpr int kLookedAt = 64;
  auto victim = entries.begin();
  int looked = 0;
  for (auto it = entries.begin(); it != entries.end() && looked < kLookedAt; ++it, ++looked) {
    if (it->second.held() > 0) continue;
    victim = it;
    break;
  }
  if (!whole(victim->second.allowance)) --reduced_;
  if (&entries == &newcomers_) AddToNewcomers(victim->second.address, 0, victim->second.held());
  entries.erase(victim);
}

}  // namespace freshet
