#include "server/ports/wire_turns.h"

#include <algorithm>
#include <iterator>

#include "server/base/next_after.h"

namespace freshet {
uint64_t WireTurns::Most() const { return std::max(kLeast, kFew / std::max<uint64_t>(active_, 1)); }

void WireTurns::SetUnheard(Network& network, uint64_t unheard) {
  active_ += (unheard > 0 ? 1 : 0);
  active_ -= (network.unheard > 0 ? 1 : 0);
  unheard_ += unheard - network.unheard;
  network.unheard = unheard;
}

void WireTurns::Count(const IpAddress& network, uint64_t opened, uint64_t ended) {
  const MutexLock lock(mutex_);
  const auto it = networks_.try_emplace(network.pieces).first;
  Network& its = it->second;
  its.open += opened;
  its.open -= std::min(ended, its.open);
  SetUnheard(its, std::min(its.unheard + opened, its.open));
  if (ended > 0) WakeNext(it);
  Tidy(it);
}

void WireTurns::Heard(const IpAddress& network) {
  const MutexLock lock(mutex_);
  const auto it = networks_.find(network.pieces);
  if (it == networks_.end() || it->second.unheard == 0) return;
  SetUnheard(it->second, it->second.unheard - 1);
  WakeNext(it);
}

size_t WireTurns::MayRead(const IpAddress& network, int descriptor) {
  const MutexLock lock(mutex_);
  const auto it = networks_.find(network.pieces);
  const bool many = unheard_ >= kFew;
  if (it == networks_.end()) return many ? kPiece : SIZE_MAX;
  Network& its = it->second;
  if (many && its.unheard >= Most()) {
    its.waiting.insert(descriptor);
    waiting_.insert(it->first);
    return 0;
  }
  its.waiting.erase(descriptor);
  // What is read may open no call, of which the server would hear.
  WakeOne(it);
  Tidy(it);
  return many ? kPiece : SIZE_MAX;
}

void WireTurns::Forget(const IpAddress& network, int descriptor) {
  const MutexLock lock(mutex_);
  const auto it = networks_.find(network.pieces);
  if (it == networks_.end()) return;
  it->second.waiting.erase(descriptor);
  Tidy(it);
}

void WireTurns::WakeAll() {
  const MutexLock lock(mutex_);
  for (auto it = networks_.begin(); it != networks_.end();) {
    const auto next = std::next(it);
    for (const int descriptor : it->second.waiting) wake_(descriptor);
    it->second.waiting.clear();
    Tidy(it);
    it = next;
  }
}

void WireTurns::End() {
  ended_ = true;
  WakeAll();
}

uint64_t WireTurns::unheard() const {
  const MutexLock lock(mutex_);
  return unheard_;
}

void WireTurns::WakeNext(Networks::iterator network) {
  if (unheard_ < kFew && !waiting_.empty()) {
    const auto next = NextAfter(waiting_, woken_);
    woken_ = *next;
    WakeOne(networks_.find(woken_));
  } else if (network->second.unheard < Most()) {
    WakeOne(network);
  }
}

void WireTurns::WakeOne(Networks::iterator network) {
  Network& its = network->second;
  if (its.waiting.empty()) return;
  const auto next = NextAfter(its.waiting, its.woken);
  its.woken = *next;
  its.waiting.erase(next);
  if (its.waiting.empty()) waiting_.erase(network->first);
  wake_(its.woken);
}

void WireTurns::Tidy(Networks::iterator network) {
  const Network& its = network->second;
  if (its.waiting.empty()) waiting_.erase(network->first);
  if (its.open == 0 && its.waiting.empty()) networks_.erase(network);
}

}  // namespace freshet
