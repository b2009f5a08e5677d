// What the dispatcher holds of one request for pages, over all shards, and what came of it.
#ifndef FRESHET_SERVER_ENGINE_DISPATCHER_REFILL_H_
#define FRESHET_SERVER_ENGINE_DISPATCHER_REFILL_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "core/schedule/event.h"
#include "server/base/countdown.h"
#include "server/engine/dispatcher.h"

namespace freshet {

// Each field is of whoever goes on: the dispatcher's thread, then the last shard that has answered.
struct Dispatcher::Refill {
  explicit Refill(size_t shards) : bid(shards), settled(shards), bids(shards) {}

  Countdown bid;      // shards that have said what they have
  Countdown settled;  // shards that have leased what they were told to
  Instant asked;
  std::optional<uint64_t> turn;  // in which it was asked
  std::vector<LeaseTerms> terms;
  std::vector<WorkerId> workers;                       // by term; kNobody: not known, or none
  std::vector<std::optional<Assignment>> assignments;  // by term
  std::vector<ShardBid> bids;                          // by shard
  TickOwners owners;
  std::vector<Spacing> spacings;    // by term that has a page
  std::vector<CrawlClass> classes;  // by term that has a page, where ticks have owners
  bool open = false;                // workers are found once pages are known
  bool cut = false;                 // RankedBids::cut
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_DISPATCHER_REFILL_H_
