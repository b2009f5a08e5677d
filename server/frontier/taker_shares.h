// Limits how many URLs of other clients' crawl ids a client may have in flight. A client can pull
// URLs at no cost. Without a limit, a client that reports no results could keep all URLs from
// others for as long as leases last.
#ifndef FRESHET_SERVER_FRONTIER_TAKER_SHARES_H_
#define FRESHET_SERVER_FRONTIER_TAKER_SHARES_H_

#include <algorithm>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "core/base/shares.h"
#include "server/base/limits.h"

namespace freshet {

// The shares. Each result of a client covers one lease of the client, up to
// limits::kMaxNewcomerLeases. A lease that ends without a result takes one result away. All leases
// that are not covered share a table of a fixed size, by the rules of core/base/shares.h. Clients
// without leases and results are not remembered. Thread-compatible.
class TakerShares {
 public:
  // `uncovered`: the size of the table.
  explicit TakerShares(uint64_t uncovered) : most_(uncovered) {}

  // How many more URLs the client may take.
  [[nodiscard]] uint64_t Left(uint64_t client) const {
    const auto it = takers_.find(client);
    const Taker taker = it == takers_.end() ? Taker() : it->second;
    const uint64_t covered = taker.results - std::min(taker.held, taker.results);
    return covered + ShareLeft(taker.uncovered(), uncovered_, most_);
  }
  void Take(uint64_t client) {
    Change(client, [](Taker& taker) { ++taker.held; });
  }
  void Give(uint64_t client) {
    Change(client, [](Taker& taker) { --taker.held; });
  }
  // Answered counts a lease of the client that ended with a result, Expired one that ended without.
  void Answered(uint64_t client) {
    if (takers_.size() >= limits::kMaxClients) ForgetOne();
    Change(client, [](Taker& taker) {
      taker.results = std::min<uint64_t>(taker.results + 1, limits::kMaxNewcomerLeases);
    });
  }
  void Expired(uint64_t client) {
    Change(client, [](Taker& taker) { taker.results -= std::min<uint64_t>(taker.results, 1); });
  }
  // The number of URLs that the client has in flight.
  [[nodiscard]] uint64_t held(uint64_t client) const {
    const auto it = takers_.find(client);
    return it == takers_.end() ? 0 : it->second.held;
  }
  [[nodiscard]] uint64_t uncovered() const { return uncovered_; }
  [[nodiscard]] size_t remembered() const { return takers_.size(); }

 private:
  struct Taker {
    uint64_t held = 0;
    uint64_t results = 0;
    [[nodiscard]] uint64_t uncovered() const { return held - std::min(held, results); }
  };

  template <typename Step>
  void Change(uint64_t client, Step step) {
    Taker& taker = takers_[client];
    uncovered_ -= taker.uncovered();
    step(taker);
    uncovered_ += taker.uncovered();
    if (taker.held == 0 && taker.results == 0) takers_.erase(client);
  }
  // Forgets a taker without leases, if there is one among the first kLookedAt.
  void ForgetOne() {
    constexpr int kLookedAt = 64;
    auto it = takers_.begin();
    for (int i = 0; i < kLookedAt && it != takers_.end(); ++i, ++it) {
      if (it->second.held > 0) continue;
      takers_.erase(it);
      return;
    }
  }

  const uint64_t most_;
  uint64_t uncovered_ = 0;
  absl::flat_hash_map<uint64_t, Taker> takers_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_TAKER_SHARES_H_
