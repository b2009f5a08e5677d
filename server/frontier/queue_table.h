// The queues of the crawl-frontier API in memory: which of them may give URLs at a time, in
// rotation, without looking at those that may not; and what is in flight.
#ifndef FRESHET_SERVER_FRONTIER_QUEUE_TABLE_H_
#define FRESHET_SERVER_FRONTIER_QUEUE_TABLE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "core/base/shares.h"
#include "server/frontier/crawl_turns.h"
#include "server/frontier/taker_shares.h"
#include "storage/frontier_store.h"

namespace freshet {

// A URL in flight. Value type, thread-compatible.
struct FrontierFlight {
  FrontierLease lease;
  uint64_t serial = 0;  // of no other one
  uint64_t taker = 0;   // the client that has it of another's crawl id; zero: whoever else
};

// Written by QueueTable alone, but for `changed`.
struct FrontierQueue {
  // In which order of its crawl id it stands.
  enum class Place : uint8_t { kNowhere, kWaiting, kReady };

  FrontierQueueId id;
  FrontierCrawl* crawl = nullptr;
  FrontierQueueRecord record;
  absl::node_hash_map<std::string, FrontierFlight> flights;  // by URL
  bool changed = false;                                      // since it was stored

  Place place = Place::kNowhere;
  uint64_t filed_at = 0;  // waiting: the second from which it may serve; ready: its turn
  uint32_t filed_flights = 0;
  bool saved = false;  // how it was is in the table's journal

  // Whether it has URLs of any kind. Others are only kept for the terms that are set for them.
  [[nodiscard]] bool has_urls() const { return record.active + record.completed > 0; }
};

// Sums over the queues of a crawl id, or of all. Value type, thread-compatible.
struct FrontierCounts {
  uint64_t active = 0;
  uint64_t completed = 0;
  uint64_t in_flight = 0;
  uint64_t flight_places = 0;  // of these: long URLs take several (PlacesOfFlight)
  uint64_t queues = 0;         // that have URLs
  uint64_t active_queues = 0;  // that have some scheduled
  uint64_t kept_queues = 0;    // all that are in memory
};

// A client with crawl ids, and what is theirs. Written by QueueTable alone.
struct FrontierOwner {
  uint64_t client = 0;
  uint64_t crawls = 0;
  FrontierCounts counts;
};

// Written by QueueTable alone.
struct FrontierCrawl {
  uint32_t number = 0;
  std::string name;
  uint32_t next_queue = 1;
  bool saved = false;  // how it was is in the table's journal
  FrontierCounts counts;
  // Whose it is: of the client that brought it, or that was the first to use it since a restart.
  // Zero: nobody has used it since.
  Claim claim;
  std::shared_ptr<FrontierOwner> owner;
  absl::btree_map<std::string, std::unique_ptr<FrontierQueue>, std::less<>> queues;  // by key
  // By the second from which each may serve.
  absl::btree_map<std::pair<uint64_t, uint32_t>, FrontierQueue*> waiting;
  // Those that may serve, in rotation, apart by how much each has in flight: a request leaves out
  // all that have as much as it may take.
  std::map<uint32_t, absl::btree_map<uint64_t, FrontierQueue*>> ready;
  // Where it stands among those that come (CrawlTurns), and since when the turn is with others.
  std::pair<uint64_t, uint64_t> comes = {std::numeric_limits<uint64_t>::max(), 0};
  uint64_t put_off = 0;

  // A number that is free again may be taken again by the store's terms, so that all may be.
  [[nodiscard]] bool has_room() const { return next_queue < std::numeric_limits<uint32_t>::max(); }
};

// A URL in flight is in memory, so that a longer one counts for several.
[[nodiscard]] constexpr uint64_t PlacesOfFlight(size_t url_bytes) {
  constexpr size_t kBytesPerPlace = 256;
  return 1 + url_bytes / kBytesPerPlace;
}

// Times are whole seconds since 1970. A queue may serve at `now` when something of it is due, it is
// not blocked until now or later, fewer than its limit are completed, and its last service and
// delay together are before now.
//
// Changes are for good once Keep is called; before, Undo takes them back, all since the last Keep
// and each at the cost that it had. Two things are not taken back, since nothing that was changed
// shows in them: which queues have become ready, and that turns and serials are used up.
//
// Cost: a change O(log queues); the next queue to serve O(log queues + different numbers in
// flight). A change of the default delay looks at all queues. Thread-compatible.
class QueueTable {
 public:
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  // `uncovered_flights`: of clients in others' crawl ids (TakerShares).
  explicit QueueTable(uint64_t uncovered_flights) : takers_(uncovered_flights) {}
  QueueTable(const QueueTable&) = delete;
  QueueTable& operator=(const QueueTable&) = delete;

  // --- Looking up; nullptr: there is none
  [[nodiscard]] FrontierCrawl* FindCrawl(std::string_view name) const;
  [[nodiscard]] FrontierQueue* Find(std::string_view crawl, std::string_view key) const;
  [[nodiscard]] FrontierQueue* Find(FrontierQueueId id) const;
  // By number.
  [[nodiscard]] const FrontierCrawls& crawls() const { return crawls_; }
  [[nodiscard]] const FrontierCounts& counts() const { return counts_; }

  // What is this client's; blank: nothing.
  [[nodiscard]] FrontierOwner OwnerOf(uint64_t client) const;

  // --- Queues
  // A new crawl id of that number; 0 is the next that is free. With a client of 0 it is nobody's,
  // and counts by itself, until it is claimed.
  FrontierCrawl& AddCrawl(uint32_t number, std::string_view name, const Claim& claim = {});
  // It is the client's if it is nobody's, or if the client's limits name it, and not those of whose
  // it was. This is not undone: it is known since then.
  void ClaimCrawl(FrontierCrawl& crawl, const Claim& claim);
  // The queue, which is new; its number is the next that is free unless `number` says which.
  FrontierQueue& AddQueue(FrontierCrawl& crawl, FrontierQueueRecord record, uint32_t number = 0);
  // Both are there, though nobody finds them, until Keep.
  void Remove(FrontierQueue& queue);
  void RemoveCrawl(FrontierCrawl& crawl);

  // --- Changes of a queue; each needs File once all are made
  // To set the terms of the queue, and when it was served; not how many URLs it has.
  [[nodiscard]] FrontierQueueRecord& Edit(FrontierQueue& queue);
  // So many URLs more (or less) are scheduled, and completed. Those that have gone wait no more and
  // are not in flight; those that have come are added after it.
  void Count(FrontierQueue& queue, int64_t active, int64_t completed);
  // A URL waits.
  void AddDue(FrontierQueue& queue, const FrontierDue& due);
  // Which one is the first that waits; nullopt: none does.
  void SetHead(FrontierQueue& queue, std::optional<FrontierDue> head);
  // A URL that waited is in flight. Returns its serial. `taker` as in FrontierFlight.
  uint64_t AddFlight(FrontierQueue& queue, const std::string& url, const FrontierLease& lease,
                     uint64_t taker = 0);
  // As it was stored.
  void RemoveFlight(FrontierQueue& queue, std::string_view url);
  // The URL, which is in flight, is due then once it is not.
  void SetFlightDue(FrontierQueue& queue, const std::string& url, uint64_t due);
  // Puts the queue where it belongs at `now`.
  void File(FrontierQueue& queue, uint64_t now);

  // --- Taking back
  // What was changed stays. The first call begins the journal: what is loaded needs none. From here
  // on a head may be the beginning of the first that waits, which comes before it.
  void Keep();
  // What was changed since the last Keep was not.
  void Undo();

  // --- Default
  // For good at once.
  void SetDefaultDelay(uint32_t seconds, uint64_t now);

  // --- Serving
  // From when on it may serve, as far as known: something may be due later than it seems.
  [[nodiscard]] uint64_t ServesFrom(const FrontierQueue& queue) const;
  // Which crawl ids have queues that may serve, or that may once Promote has taken them in.
  [[nodiscard]] const CrawlTurns& turns() const { return turns_; }
  // The turn that the next queue gets which becomes ready: those before it are ready already.
  [[nodiscard]] uint64_t next_turn() const { return next_turn_; }
  // Takes in the queues that have become ready by `now`, the first `most` of them. Returns how
  // many.
  size_t Promote(FrontierCrawl& crawl, uint64_t now, size_t most);
  // The ready queue whose turn is first, if that is before `end` and it has less than `flights` in
  // flight. It stays where it is: serving it, and File, move it.
  [[nodiscard]] static FrontierQueue* First(const FrontierCrawl& crawl, uint32_t flights,
                                            uint64_t end);

  // --- What is in flight
  [[nodiscard]] const TakerShares& takers() const { return takers_; }
  // A flight of the taker, if it has one, has ended with a result, or without. Not undone.
  void CountResult(uint64_t taker, bool answered);
  // When the first lease ends; kNever: nothing is in flight.
  [[nodiscard]] uint64_t next_expiry() const;
  struct Expired {
    FrontierQueue* queue;
    std::string url;
  };
  // That whose lease ends first, if it has ended by `now`.
  [[nodiscard]] std::optional<Expired> FirstExpired(uint64_t now) const;

 private:
  struct FlightRef {
    FrontierQueue* queue;
    const std::string* url;  // in its flights
  };

  // How a queue and a crawl id were before they were changed.
  struct SavedQueue {
    FrontierQueue* queue;
    FrontierQueueRecord record;  // without its key
    FrontierQueue::Place place;
    uint64_t filed_at;
    uint32_t filed_flights;
  };
  struct SavedCrawl {
    FrontierCrawl* crawl;
    uint32_t next_queue;
    FrontierCounts counts;
  };
  // What has come and gone, in this order.
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
  static void CountFlight(FrontierQueue& queue, size_t url_bytes, int64_t change,
                          FrontierCounts* all);
  void Link(FrontierQueue& queue, const std::string& url, const FrontierFlight& flight);
  void Unlink(FrontierQueue& queue, std::string_view url);
  void Place(FrontierQueue& queue, FrontierQueue::Place place, uint64_t at, uint32_t flights);
  void Unfile(FrontierQueue& queue);
  // File, whatever becomes of it.
  void Move(FrontierQueue& queue, uint64_t now);

  FrontierCrawls crawls_;
  CrawlTurns turns_;
  absl::flat_hash_map<std::string, FrontierCrawl*> by_name_;
  absl::flat_hash_map<FrontierQueueId, FrontierQueue*> by_id_;
  absl::flat_hash_map<uint64_t, std::shared_ptr<FrontierOwner>> owners_;  // by client
  FrontierCounts counts_;
  TakerShares takers_;
  absl::btree_map<std::pair<uint64_t, uint64_t>, FlightRef> expiries_;  // by end and serial
  uint32_t default_delay_ = 1;
  uint32_t next_crawl_ = 1;
  uint64_t next_turn_ = 1;
  uint64_t next_serial_ = 1;
  // The journal.
  bool journals_ = false;
  std::vector<SavedQueue> saved_queues_;
  std::vector<SavedCrawl> saved_crawls_;
  std::vector<Step> steps_;
  FrontierCounts kept_counts_;
  uint32_t kept_next_crawl_ = 1;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_QUEUE_TABLE_H_
