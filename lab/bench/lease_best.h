// Leases the best pages of one shard. Like the dispatcher, it leases everything that the shard
// bids.
#ifndef FRESHET_LAB_BENCH_LEASE_BEST_H_
#define FRESHET_LAB_BENCH_LEASE_BEST_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "server/engine/shard.h"

namespace freshet {

// Calls `done` with one assignment for each of the terms, in order; nullopt = no page. `done` is
// called on the shard's thread, once the leases are durable. Thread-safe.
inline void LeaseBest(Shard& shard, std::vector<LeaseTerms> terms,
                      std::function<void(std::vector<std::optional<Assignment>>)> done) {
  BidRequest bid;
  for (const LeaseTerms& each : terms) bid.at.push_back(each.at);
  bid.done = [&shard, terms = std::move(terms), done = std::move(done)](const ShardBid& bids) {
    SettleRequest settle;
    for (size_t i = 0; i < bids.picks.size(); ++i) {
      settle.leases.push_back({.pick = bids.picks[i], .terms = terms[i]});
    }
    settle.done = [count = terms.size(), done](std::vector<std::optional<Assignment>> assignments) {
      assignments.resize(count);
      done(std::move(assignments));
    };
    shard.Submit(std::move(settle));
  };
  shard.Submit(std::move(bid));
}

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_LEASE_BEST_H_
