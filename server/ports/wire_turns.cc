#include "server/ports/wire_turns.h"

#include <algorithm>
#include <iterator>

#include "core/base/check.h"
#include "core/base/shares.h"
#include "server/base/next_after.h"

namespace freshet {
namespace {

// How many networks are examined to find one that may be read. Look finds the others.
constexpr size_t kLookedAt = 16;

}  // namespace

uint64_t WireTurns::Most() const { return std::max(kLeast, kFew / std::max<uint64_t>(active_, 1)); }

bool WireTurns::IsBeyond(const Network& network) const {
  const Calls& calls = network.calls;
  return (AreMany() && calls.Unheard() >= Most()) ||
         ShareLeft(calls.LeftBehind(), left_behind_, most_) == 0;
}

void WireTurns::Set(Network& network, const Calls& now) {
  const Calls& before = network.calls;
  active_ += (now.Unheard() > 0 ? 1 : 0);
  active_ -= (before.Unheard() > 0 ? 1 : 0);
  unheard_ += now.Unheard() - before.Unheard();
  left_behind_ += now.LeftBehind() - before.LeftBehind();
  network.calls = now;
}

void WireTurns::SetMost(uint64_t most) {
  const MutexLock lock(mutex_);
  most_ = most;
}

void WireTurns::Count(const IpAddress& network, const WireCalls& before, const WireCalls& now) {
  const MutexLock lock(mutex_);
  const auto it = networks_.try_emplace(network.pieces).first;
  Calls calls = it->second.calls;
  calls.open += now.open - before.open;
  const uint64_t over = now.silent_over - before.silent_over;
  calls.silent += now.silent_opened - before.silent_opened - over;
  // Usually the calls that are silent no more were heard before.
  calls.heard_silent -= std::min(calls.heard_silent, over);
  calls.unheard[age_ % 2] += now.opened - before.opened;
  Set(it->second, calls);
  Tidy(it);
}

uint64_t WireTurns::Made() {
  const MutexLock lock(mutex_);
  ++made_[age_ % 2];
  return age_;
}

void WireTurns::Heard(const IpAddress& network, uint64_t age) {
  const MutexLock lock(mutex_);
  CHECK(made_[age % 2] > 0, "no call of age {} is unheard", age);
  --made_[age % 2];
  const auto it = networks_.try_emplace(network.pieces).first;
  Calls calls = it->second.calls;
  ++calls.heard;
  // gRPC may have read the call in the age before it created the call. If the age of its creation
  // has no unheard call, the call is subtracted from the other age.
  uint64_t& its = calls.unheard[age % 2];
  uint64_t& others = calls.unheard[(age + 1) % 2];
  if (its > 0) {
    --its;
  } else if (others > 0) {
    --others;
  }
  Set(it->second, calls);
  WakeNext(it);
}

bool WireTurns::TakeSilent(const IpAddress& network) {
  const MutexLock lock(mutex_);
  const auto it = networks_.find(network.pieces);
  if (it == networks_.end() || it->second.calls.heard_silent >= it->second.calls.silent)
    return false;
  ++it->second.calls.heard_silent;
  return true;
}

void WireTurns::Ended(const IpAddress& network) {
  const MutexLock lock(mutex_);
  const auto it = networks_.find(network.pieces);
  CHECK(it != networks_.end() && it->second.calls.heard > 0, "no call has been heard of");
  Calls calls = it->second.calls;
  --calls.heard;
  Set(it->second, calls);
  WakeNext(it);
  Tidy(it);
}

size_t WireTurns::MayRead(const IpAddress& network, int descriptor, bool ran) {
  const MutexLock lock(mutex_);
  const auto it = networks_.try_emplace(network.pieces).first;
  Network& its = it->second;
  const bool beyond = IsBeyond(its);
  const bool others_wait = !its.waiting.empty() && !its.running.contains(descriptor);
  if (beyond || ran || others_wait) {
    its.running.erase(descriptor);
    its.waiting.insert(descriptor);
    waiting_.insert(it->first);
    if (!beyond) WakeOne(it);
    return 0;
  }
  // The bytes that are read now might open no call, and then no later event would wake the next
  // socket.
  WakeOne(it);
  Tidy(it);
  return std::max(kPiece, kLeastBytesPerCall * (kFew - std::min(unheard_, kFew)));
}

void WireTurns::Drained(const IpAddress& network, int descriptor) {
  const MutexLock lock(mutex_);
  const auto it = networks_.find(network.pieces);
  if (it == networks_.end() || it->second.running.erase(descriptor) == 0) return;
  if (!IsBeyond(it->second)) WakeOne(it);
  Tidy(it);
}

void WireTurns::Forget(const IpAddress& network, int descriptor) {
  const MutexLock lock(mutex_);
  const auto it = networks_.find(network.pieces);
  if (it == networks_.end()) return;
  it->second.waiting.erase(descriptor);
  if (it->second.running.erase(descriptor) > 0 && !IsBeyond(it->second)) WakeOne(it);
  Tidy(it);
}

void WireTurns::Look() {
  const MutexLock lock(mutex_);
  if (++looks_ >= kLooksPerAge && made_[(age_ + 1) % 2] == 0) ForgetUnmade();
  for (auto it = networks_.begin(); it != networks_.end();) {
    const auto next = std::next(it);
    // A woken connection counts as running until its run ends. gRPC can stop reading a connection
    // without ending the run, so Look ends all runs.
    it->second.running.clear();
    for (size_t i = 0; i < runs_; ++i) WakeOne(it);
    Tidy(it);
    it = next;
  }
}

void WireTurns::ForgetUnmade() {
  // The server has heard all calls that gRPC created from its reads in the previous age. So gRPC
  // never created the calls of that age that are still unheard.
  ++age_;
  looks_ = 0;
  for (auto it = networks_.begin(); it != networks_.end();) {
    const auto next = std::next(it);
    Calls calls = it->second.calls;
    calls.unheard[age_ % 2] = 0;
    Set(it->second, calls);
    Tidy(it);
    it = next;
  }
}

void WireTurns::End() {
  ended_ = true;
  const MutexLock lock(mutex_);
  for (const auto& [key, network] : networks_) {
    for (const int descriptor : network.waiting) wake_(descriptor);
  }
}

uint64_t WireTurns::unheard() const {
  const MutexLock lock(mutex_);
  return unheard_;
}

uint64_t WireTurns::left_behind() const {
  const MutexLock lock(mutex_);
  return left_behind_;
}

void WireTurns::WakeNext(Networks::iterator network) {
  if (AreMany()) {
    if (!IsBeyond(network->second)) WakeOne(network);
    return;
  }
  const size_t most = std::min(kLookedAt, waiting_.size());
  for (size_t i = 0; i < most; ++i) {
    woken_ = *NextAfter(waiting_, woken_);
    const auto next = networks_.find(woken_);
    if (!IsBeyond(next->second)) return WakeOne(next);
  }
}

void WireTurns::WakeOne(Networks::iterator network) {
  Network& its = network->second;
  if (its.waiting.empty() || its.running.size() >= runs_) return;
  const auto next = NextAfter(its.waiting, its.woken);
  its.woken = *next;
  its.waiting.erase(next);
  its.running.insert(its.woken);
  if (its.waiting.empty()) waiting_.erase(network->first);
  wake_(its.woken);
}

void WireTurns::Tidy(Networks::iterator network) {
  const Network& its = network->second;
  if (its.waiting.empty()) waiting_.erase(network->first);
  if (its.empty()) networks_.erase(network);
}

}  // namespace freshet
