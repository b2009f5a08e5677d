// The queues of the crawl-frontier API in memory, and the URLs in flight. Finds the queues that can
// serve URLs now, in rotation, without visiting the others.
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

// The table. Times are whole seconds since 1970. A queue can serve at `now` under four conditions:
// one of its URLs is due, its block ended before now, fewer URLs than its limit are completed, and
// its last service plus its delay is before now.
//
// Keep makes changes permanent. Undo reverts all changes since the last Keep, at the same cost as
// making them. It does not revert Promote or the use of turns and serials, because these do not
// depend on the changes.
//
// Cost: a change takes O(log queues), however much it removes. Finding the next queue to serve
// takes O(log queues + number of distinct flight counts). Tend does the work on many queues or
// flights later, in parts. Thread-compatible.
class QueueTable : public QueueBook {
 public:
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  // `uncovered_flights`: see TakerShares.
  explicit QueueTable(uint64_t uncovered_flights) : ends_(uncovered_flights) {}

  // --- Queues
  // Adds a new crawl id with this number; 0 = the next free one. If the client of `claim` is 0, the
  // crawl id has no owner until it is claimed, and until then it counts as a separate client.
  FrontierCrawl& AddCrawl(uint32_t number, std::string_view name, const Claim& claim = {});
  // Makes the client the owner of the crawl id if it has no owner, or if the client's limits name
  // the crawl id and those of the owner do not. Takes effect at once; Undo does not revert it.
  void ClaimCrawl(FrontierCrawl& crawl, const Claim& claim);
  // Adds a new queue with this number; 0 = the next free one.
  FrontierQueue& AddQueue(FrontierCrawl& crawl, FrontierQueueRecord record, uint32_t number = 0);
  // Remove a queue or a crawl id. It can no longer be found, but exists until Keep. Precondition:
  // Keep was called before.
  void Remove(FrontierQueue& queue);
  void RemoveCrawl(FrontierCrawl& crawl);

  // --- Changes of a queue; File must follow them
  // The record. The caller may set the terms of the queue and the time of its last service, but not
  // its numbers of URLs.
  [[nodiscard]] FrontierQueueRecord& Edit(FrontierQueue& queue);
  // Adds to the numbers of scheduled and completed URLs. For removed URLs, call it after they were
  // taken out of the waiting URLs or of the flights. For added URLs, call it before AddDue.
  void Count(FrontierQueue& queue, int64_t active, int64_t completed);
  // Adds a waiting URL.
  void AddDue(FrontierQueue& queue, const FrontierDue& due);
  // Sets the head: the first waiting URL, or a place before it (FrontierHead); nullopt = no URL
  // waits.
  void SetHead(FrontierQueue& queue, std::optional<FrontierDue> head,
               FrontierHead is = FrontierHead::kFirst);
  // Puts a waiting URL in flight. Returns the serial of the flight. `taker`: as in FrontierFlight.
  uint64_t AddFlight(FrontierQueue& queue, const std::string& url, const FrontierLease& lease,
                     uint64_t taker = 0);
  // Ends a flight. The URL does not wait afterwards.
  void RemoveFlight(FrontierQueue& queue, std::string_view url);
  // Sets when a URL in flight is due after its flight.
  void SetFlightDue(FrontierQueue& queue, const std::string& url, uint64_t due);
  // Puts the queue into the right list for `now`.
  void File(FrontierQueue& queue, uint64_t now);

  // --- Taking back
  // Makes all changes permanent. The first call begins the journal, which is not needed while
  // loading. Keep may shorten a head of the kind FrontierHead::kFirst to a prefix of the first
  // waiting URL.
  void Keep();
  // Reverts all changes since the last Keep.
  void Undo();

  // --- Default
  // Sets the default delay, at once and permanently. Queues stay filed by the former delay until
  // Tend has visited them.
  void SetDefaultDelay(uint32_t seconds);
  // Files queues again after a change of the default delay, and destroys removed queues and
  // flights: at most `most` in total. Returns true if more work is left. Precondition: the journal
  // is empty.
  [[nodiscard]] bool Tend(uint64_t now, size_t most);

  // --- Serving
  // The second from which the queue can serve, as far as known. Its first URL may be due later.
  [[nodiscard]] uint64_t ServesFrom(const FrontierQueue& queue) const;
  // The crawl ids with queues that can serve now, or that Promote will make ready.
  [[nodiscard]] const CrawlTurns& turns() const { return turns_; }
  // The turn that the next promoted queue will get. All ready queues have earlier turns.
  [[nodiscard]] uint64_t next_turn() const { return next_turn_; }
  // Makes ready the waiting queues that can serve at `now`, but visits at most `most` queues.
  // Returns the number of visited queues. After a change of the default delay, a queue can be ready
  // although it cannot serve yet.
  size_t Promote(FrontierCrawl& crawl, uint64_t now, size_t most);

  // --- What is in flight
  // See FlightEnds::CountResult. Undo does not revert it.
  void CountResult(uint64_t taker, bool answered) { ends_.CountResult(taker, answered); }
  // The flights, with the ends of their leases and their takers.
  [[nodiscard]] const FlightEnds& ends() const { return ends_; }
  struct Expired {
    FrontierQueue* queue;  // nullptr = the queue was removed
    std::string url;
  };
  // The flight whose lease ends first, if it has ended by `now`. If its queue was removed, the call
  // also ends the flight.
  [[nodiscard]] std::optional<Expired> FirstExpired(uint64_t now);

 private:
  // The states of a changed queue and of a changed crawl id at the last Keep.
  struct SavedQueue {
    FrontierQueue* queue;
    FrontierQueueRecord record;  // its key is left out
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
  // Flights, queues and crawl ids that were added or removed, in order.
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
  // Does the work of File without the journal.
  void Move(FrontierQueue& queue, uint64_t now);
  // Files queues again. Returns how many it has visited.
  size_t Refile(uint64_t now, size_t most);

  CrawlTurns turns_;
  FlightEnds ends_;
  uint32_t default_delay_ = 1;
  std::optional<FrontierQueueId> refiles_from_;  // the next queue that Tend files again
  GoneQueues gone_;
  uint32_t next_crawl_ = 1;
  uint64_t next_turn_ = 1;
  uint64_t next_serial_ = 1;
  // The following fields are the journal.
  bool journals_ = false;
  std::vector<SavedQueue> saved_queues_;
  std::vector<SavedCrawl> saved_crawls_;
  std::vector<Step> steps_;
  FrontierCounts kept_counts_;
  uint32_t kept_next_crawl_ = 1;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_QUEUE_TABLE_H_
