// The queues of the crawl-frontier API in memory, by name and by number, with their counts.
#ifndef FRESHET_SERVER_FRONTIER_QUEUE_BOOK_H_
#define FRESHET_SERVER_FRONTIER_QUEUE_BOOK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/shares.h"
#include "server/frontier/crawl_turns.h"
#include "server/frontier/frontier_counts.h"
#include "storage/frontier_store.h"

namespace freshet {

// A URL in flight. Value type, thread-compatible.
struct FrontierFlight {
  FrontierLease lease;
  uint64_t serial = 0;  // unique number of the flight
  uint64_t taker = 0;   // the client, if it does not own the crawl id; 0 = owner or admin
};

// The kind of a queue's head. The head is the place at which a scan of the queue's waiting URLs
// begins.
enum class FrontierHead : uint8_t {
  kFirst,    // the first waiting URL, or a prefix of it, which sorts before it
  kWhole,    // the first waiting URL in full, because many deleted rows share its prefix
  kPassing,  // a place among deleted rows; the queue serves nothing until these are skipped
};

// A queue. Only QueueTable and its parts write it, except `changed`.
struct FrontierQueue {
  // The list of the crawl id that has the queue: `waiting`, `ready` or none.
  enum class Place : uint8_t { kNowhere, kWaiting, kReady };

  FrontierQueueId id;
  FrontierCrawl* crawl = nullptr;
  FrontierQueueRecord record;
  // By URL. This is a tree, because a hash table with millions of URLs would delay all calls when
  // it grows.
  std::map<std::string, FrontierFlight, std::less<>> flights;
  bool changed = false;  // changed since it was stored

  Place place = Place::kNowhere;
  uint32_t flight_places = 0;  // sum of PlacesOfFlight over its flights
  uint64_t filed_at = 0;       // waiting: second from which it can serve; ready: its turn
  uint32_t filed_flights = 0;
  bool saved = false;                        // its last kept state is in the table's journal
  FrontierHead head = FrontierHead::kFirst;  // meaning of record.head

  [[nodiscard]] bool passing() const { return head == FrontierHead::kPassing; }
  // Returns true if the queue has URLs of any kind. Queues without URLs are kept only for their
  // settings.
  [[nodiscard]] bool has_urls() const { return record.active + record.completed > 0; }
};

// A client that owns crawl ids, with the sums of their counts. Only QueueTable writes it.
struct FrontierOwner {
  uint64_t client = 0;
  uint64_t crawls = 0;
  FrontierCounts counts;
};

// A crawl id. Only QueueTable writes it.
struct FrontierCrawl {
  uint32_t number = 0;
  std::string name;
  uint32_t next_queue = 1;
  bool saved = false;  // its last kept state is in the table's journal
  FrontierCounts counts;
  // The owner: the client that made the crawl id or, after a restart, the first client to use it.
  // Client 0 = no owner yet.
  Claim claim;
  std::shared_ptr<FrontierOwner> owner;
  absl::btree_map<std::string, std::unique_ptr<FrontierQueue>, std::less<>> queues;  // by key
  absl::btree_map<uint32_t, FrontierQueue*> by_number;
  // Waiting queues, by the second from which each can serve, and by number.
  absl::btree_map<std::pair<uint64_t, uint32_t>, FrontierQueue*> waiting;
  // Queues that can serve, by the number of their flights and then by turn. A pull skips all queues
  // that already have as many flights as it allows.
  std::map<uint32_t, absl::btree_map<uint64_t, FrontierQueue*>> ready;
  // The crawl id's place in CrawlTurns::Coming, and the second of its last CrawlTurns::PutOff.
  std::pair<uint64_t, uint64_t> comes = {std::numeric_limits<uint64_t>::max(), 0};
  uint64_t put_off = 0;

  // Returns true if the client owns the crawl id, or is an admin or the server itself.
  [[nodiscard]] bool IsOf(const Claim& by) const {
    return by.client == 0 || by.admin || owner->client == by.client;
  }
  // Removes the queue from `waiting` or `ready`. Does not update CrawlTurns.
  void TakeAway(FrontierQueue& queue);
  // Returns true if there is a number for another queue.
  [[nodiscard]] bool has_room() const { return next_queue < std::numeric_limits<uint32_t>::max(); }
  // The ready queue with the first turn before `end` among those with fewer than `most_flights`
  // URLs in flight; nullptr = none. Does not move the queue; serving it and QueueTable::File do
  // that.
  [[nodiscard]] FrontierQueue* FirstReady(uint32_t most_flights, uint64_t end) const;
};

// The number of places that a URL in flight takes. Long URLs take several, because URLs in flight
// are in memory.
[[nodiscard]] constexpr uint64_t PlacesOfFlight(size_t url_bytes) {
  constexpr size_t kBytesPerPlace = 256;
  return 1 + url_bytes / kBytesPerPlace;
}

// Read access to the crawl ids and queues. QueueTable changes them. Thread-compatible.
class QueueBook {
 public:
  QueueBook(const QueueBook&) = delete;
  QueueBook& operator=(const QueueBook&) = delete;

  // Find a crawl id or a queue; nullptr = there is none.
  [[nodiscard]] FrontierCrawl* FindCrawl(std::string_view name) const;
  [[nodiscard]] FrontierQueue* Find(std::string_view crawl, std::string_view key) const;
  [[nodiscard]] FrontierQueue* Find(FrontierQueueId id) const;
  // All crawl ids, by number.
  [[nodiscard]] const FrontierCrawls& crawls() const { return crawls_; }
  [[nodiscard]] const FrontierCounts& counts() const { return counts_; }

  // The number of crawl ids of this client, and their counts; blank = none.
  [[nodiscard]] FrontierOwner OwnerOf(uint64_t client) const;

 protected:
  QueueBook() = default;
  ~QueueBook() = default;

  FrontierCrawls crawls_;
  absl::flat_hash_map<std::string, FrontierCrawl*> by_name_;
  absl::flat_hash_map<uint64_t, std::shared_ptr<FrontierOwner>> owners_;  // by client
  FrontierCounts counts_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_QUEUE_BOOK_H_
