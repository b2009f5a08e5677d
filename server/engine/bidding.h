// Asks all shards for pages for some ticks. Each shard bids its best pages. The bids of the highest
// value are leased, and the shards get the other pages back.
#ifndef FRESHET_SERVER_ENGINE_BIDDING_H_
#define FRESHET_SERVER_ENGINE_BIDDING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/units.h"
#include "core/schedule/event.h"
#include "server/base/countdown.h"
#include "server/base/system_clock.h"
#include "server/engine/assignment_sink.h"
#include "server/engine/bids.h"
#include "server/engine/departures.h"
#include "server/engine/group_ledger.h"
#include "server/engine/limited_ranking.h"
#include "server/engine/tick_shares.h"
#include "sync/mutex.h"

namespace freshet {

class Router;

// One request to all shards for pages, and its outcome. Vectors "by term" have one element for each
// element of `terms`. Only one thread at a time works on a refill: first the dispatcher's thread,
// then the thread of the last shard to answer.
struct Refill {
  explicit Refill(size_t shards) : bid(shards), settled(shards), bids(shards) {}

  Countdown bid;      // counts shards that have bid
  Countdown settled;  // counts shards that have leased their part of the pages
  Instant asked;
  std::optional<uint64_t> turn;  // Dispatcher::Turn at the time of the request
  std::vector<LeaseTerms> terms;
  std::vector<WorkerId> workers;                       // by term; 0 = not yet chosen, or none
  std::vector<std::optional<Assignment>> assignments;  // by term
  std::vector<ShardBid> bids;                          // by shard
  TickOwners owners;
  std::vector<Spacing> spacings;    // by term; set where the term got a page
  std::vector<CrawlClass> classes;  // by term; empty = ticks have no owners
  bool open = false;                // workers are chosen once the pages are known
  bool cut = false;                 // see RankedBids::cut
};

// Thread-safe. Precondition: only one refill is under way at a time.
class Bidding {
 public:
  // Chooses the worker for the page that this term of an open refill would get; false = no worker
  // takes that page.
  using FindWorker = std::function<bool(Refill&, size_t term, const Pick&)>;
  // Called when the assignments are known, on the Answerer thread of the last shard to reply.
  using Finish = std::function<void(Refill&)>;

  Bidding(Router& router, Clock& clock, FindWorker find_worker, Finish finish);

  void Send(const std::shared_ptr<Refill>& refill) FRESHET_EXCLUDES(mutex_);
  // Records the shard's new counts for these groups of hosts.
  void OnGroups(uint16_t shard, const std::vector<GroupStanding>& standings)
      FRESHET_EXCLUDES(mutex_);

 private:
  void Settle(const std::shared_ptr<Refill>& refill) FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] RankedBids Rank(Refill& refill) FRESHET_EXCLUDES(mutex_);

  Router& router_;
  Clock& clock_;
  const FindWorker find_worker_;
  const Finish finish_;
  BidRanking ranking_;  // for the refill under way
  Mutex mutex_;         // held while find_worker_ is called
  GroupLedger groups_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_BIDDING_H_
