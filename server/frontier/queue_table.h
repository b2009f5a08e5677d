// The queues of the crawl-frontier API in memory: finds those that may give URLs now, in rotation,
// without looking at others. Also the URLs in flight.
#ifndef FRESHET_SERVER_FRONTIER_QUEUE_TABLE_H_
#define FRESHET_SERVER_FRONTIER_QUEUE_TABLE_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/shares.h"
#include "server/frontier/crawl_turns.h"
#include "server/frontier/flight_ends.h"
#include "server/frontier/gone_queues.h"
#include "server/frontier/queue_book.h"
#include "storage/frontier_store.h"

namespace freshet {

// The table. Times are whole seconds since 1970. A queue may serve at `now` if a URL of it is due,
// and it is not blocked until now or later. Also, fewer URLs than its limit must be completed, and
// its last service plus its delay lie before now.
//
// Keep makes changes permanent. Undo takes back all since the last Keep, each at the cost that it
// had. Two things are not undone, because no change shows in them: queues that have become ready,
// and used turns and serials.
//
// Cost: a change O(log queues), however much is removed; the next queue to serve O(log queues +
// different numbers of flights). Tend does work on all queues or flights later, in parts.
// Thread-compatible.
class QueueTable : public QueueBook {
 public:
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  // `uncovered_flights`: of clients in others' crawl ids (TakerShares).
  explicit QueueTable(uint64_t uncovered_flights) : ends_(uncovered_flights) {}

  // --- Queues
  // Adds a new crawl id with that number; 0 = the next free one. With client 0 it has no owner, and
  // counts by itself, until it is claimed.
  FrontierCrawl& AddCrawl(uint32_t number, std::string_view name, const Claim& claim = {});
  // Gives the crawl id to the client if it has no owner, or if the client's limits name it and the
  // owner's do not. Not undone: the claim holds from then on.
  void ClaimCrawl(FrontierCrawl& crawl, const Claim& claim);
  // Adds a new queue with that number; 0 = the next free one.
  FrontierQueue& AddQueue(FrontierCrawl& crawl, FrontierQueueRecord record, uint32_t number = 0);
  // Both exist until Keep, though nobody finds them. Precondition: there was a Keep before.
  void Remove(FrontierQueue& queue);
  void RemoveCrawl(FrontierCrawl& crawl);

  // --- Changes of a queue; File must follow them
  // The record, to set the terms of the queue and the time of its service, but not its numbers of
  // URLs.
  [[nodiscard]] FrontierQueueRecord& Edit(FrontierQueue& queue);
  // Adds to the numbers of scheduled and completed URLs. Removed URLs must already be neither
  // waiting nor in flight; added ones are filed after it.
  void Count(FrontierQueue& queue, int64_t active, int64_t completed);
  // Adds a waiting URL.
  void AddDue(FrontierQueue& queue, const FrontierDue& due);
  // Sets the first waiting URL, or a place before it; nullopt = none waits.
  void SetHead(FrontierQueue& queue, std::optional<FrontierDue> head,
               FrontierHead is = FrontierHead::kFirst);
  // Puts a waiting URL in flight. Returns its serial. `taker` as in FrontierFlight.
  uint64_t AddFlight(FrontierQueue& queue, const std::string& url, const FrontierLease& lease,
                     uint64_t taker = 0);
  // Ends a flight. The URL does not wait.
  void RemoveFlight(FrontierQueue& queue, std::string_view url);
  // Sets when the URL, which is in flight, is due after its flight.
  void SetFlightDue(FrontierQueue& queue, const std::string& url, uint64_t due);
  // Puts the queue in its place at `now`.
  void File(FrontierQueue& queue, uint64_t now);

  // --- Taking back
  // Makes all changes permanent. The first call begins the journal, which loading does not need.
  // From then on a head of FrontierHead::kFirst may be only the beginning of the first waiting URL.
  void Keep();
  // Undoes all changes since the last Keep.
  void Undo();

  // --- Default
  // Permanent at once. A queue may stand where the former delay has put it, until Tend comes to it.
  void SetDefaultDelay(uint32_t seconds);
  // Refiles queues after a change of the default delay, and destroys what was removed: `most`
  // queues and flights. Returns whether more is left. Precondition: the journal is empty.
  [[nodiscard]] bool Tend(uint64_t now, size_t most);

  // --- Serving
  // When the queue may serve as far as known: a URL may be due later than it seems.
  [[nodiscard]] uint64_t ServesFrom(const FrontierQueue& queue) const;
  // The crawl ids with queues that may serve, or may once Promote has moved them.
  [[nodiscard]] const CrawlTurns& turns() const { return turns_; }
  // The turn of the next queue that becomes ready: those with earlier turns are ready.
  [[nodiscard]] uint64_t next_turn() const { return next_turn_; }
  // Moves queues that have become ready by `now` to the ready ones, the first `most` of them.
  // Returns how many it has looked at. After a change of the default delay, a ready queue may not
  // serve yet.
  size_t Promote(FrontierCrawl& crawl, uint64_t now, size_t most);

  // --- What is in flight
  // Counts the end of a flight with a result, or without, for its taker, if it has one. Not undone.
  void CountResult(uint64_t taker, bool answered) { ends_.CountResult(taker, answered); }
  // The ends of the leases, and who has them.
  [[nodiscard]] const FlightEnds& ends() const { return ends_; }
  struct Expired {
    FrontierQueue* queue;  // nullptr = it was removed before
    std::string url;
  };
  // The flight whose lease ends first, if it has ended by `now`. A removed one is returned once.
  [[nodiscard]] std::optional<Expired> FirstExpired(uint64_t now);

 private:
  // The former states of a changed queue and crawl id.
  struct SavedQueue {
    FrontierQueue* queue;
    FrontierQueueRecord record;  // without its key
    FrontierQueue::Place place;
    uint64_t filed_at;
    uint32_t filed_flights;
    FrontierHead head;
  };
  struct SavedCrawl {
    FrontierCrawl* crawl;
    uint32_t next_queue;
    FrontierCounts counts;
  };
  // Things that have come or gone, in order.
  struct FlightCame {
    FrontierQueue* queue;
    std::string url;
  };
  struct FlightWent {
    FrontierQueue* queue;
    std::string url;
    FrontierFlight flight;
  };
  struct QueueCame {
    FrontierQueue* queue;
  };
  struct QueueWent {
    std::unique_ptr<FrontierQueue> queue;
  };
  struct CrawlCame {
    FrontierCrawl* crawl;
  };
  struct CrawlWent {
    std::unique_ptr<FrontierCrawl> crawl;
  };
  using Step = std::variant<FlightCame, FlightWent, QueueCame, QueueWent, CrawlCame, CrawlWent>;

  void Save(FrontierQueue& queue);
  void Save(FrontierCrawl& crawl);
  void Note(Step step);
  void TakeBack(FlightCame& step);
  void TakeBack(FlightWent& step);
  void TakeBack(QueueCame& step);
  void TakeBack(QueueWent& step);
  void TakeBack(CrawlCame& step);
  void TakeBack(CrawlWent& step);
  void Own(FrontierCrawl& crawl);
  void Disown(FrontierCrawl& crawl);
  void CountFlights(const FrontierQueue& queue, int64_t flights, int64_t places);
  void Place(FrontierQueue& queue, FrontierQueue::Place place, uint64_t at, uint32_t flights);
  void Unfile(FrontierQueue& queue);
  // Does the work of File, without the journal.
  void Move(FrontierQueue& queue, uint64_t now);
  // Refiles queues. Returns how many it has looked at.
  size_t Refile(uint64_t now, size_t most);

  CrawlTurns turns_;
  FlightEnds ends_;
  uint32_t default_delay_ = 1;
  std::optional<FrontierQueueId> refiles_from_;  // the next queue that Tend refiles
  GoneQueues gone_;
  uint32_t next_crawl_ = 1;
  uint64_t next_turn_ = 1;
  uint64_t next_serial_ = 1;
  // The journal:
  bool journals_ = false;
  std::vector<SavedQueue> saved_queues_;
  std::vector<SavedCrawl> saved_crawls_;
  std::vector<Step> steps_;
  FrontierCounts kept_counts_;
  uint32_t kept_next_crawl_ = 1;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_QUEUE_TABLE_H_
