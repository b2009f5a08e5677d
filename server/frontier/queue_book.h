// The queues of the crawl-frontier API in memory, by name and by number, and their counts.
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
  uint64_t serial = 0;  // unique
  uint64_t taker = 0;   // the client, if the crawl id is another's; 0 = anybody else
};

// The meaning of a queue's head.
enum class FrontierHead : uint8_t {
  kFirst,    // the first waiting URL, or a beginning of it, which sorts before it
  kWhole,    // the first waiting URL: many deleted rows begin like it
  kPassing,  // a place among deleted rows: the queue serves nothing until they are passed
};

// A queue. Only QueueTable and its parts write it, except `changed`.
struct FrontierQueue {
  // The order of the crawl id that the queue stands in.
  enum class Place : uint8_t { kNowhere, kWaiting, kReady };

  FrontierQueueId id;
  FrontierCrawl* crawl = nullptr;
  FrontierQueueRecord record;
  // By URL. A tree, because growing a hash table with millions of URLs would delay all calls.
  std::map<std::string, FrontierFlight, std::less<>> flights;
  bool changed = false;  // since it was stored

  Place place = Place::kNowhere;
  uint32_t flight_places = 0;  // places of its flights (PlacesOfFlight)
  uint64_t filed_at = 0;       // waiting: the second from which it may serve; ready: its turn
  uint32_t filed_flights = 0;
  bool saved = false;                        // its former state is in the table's journal
  FrontierHead head = FrontierHead::kFirst;  // the head of its record

  [[nodiscard]] bool passing() const { return head == FrontierHead::kPassing; }
  // Whether it has URLs of any kind. Queues without URLs are only kept for their settings.
  [[nodiscard]] bool has_urls() const { return record.active + record.completed > 0; }
};

// A client with crawl ids, and their counts. Only QueueTable writes it.
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
  bool saved = false;  // its former state is in the table's journal
  FrontierCounts counts;
  // The owner: the client that brought it, or the first to use it since a restart; 0 = not used
  // since.
  Claim claim;
  std::shared_ptr<FrontierOwner> owner;
  absl::btree_map<std::string, std::unique_ptr<FrontierQueue>, std::less<>> queues;  // by key
  absl::btree_map<uint32_t, FrontierQueue*> by_number;
  // By the second from which each may serve.
  absl::btree_map<std::pair<uint64_t, uint32_t>, FrontierQueue*> waiting;
  // Queues that may serve, in rotation, by the number of their flights: a request leaves out all
  // that have as many as it may take.
  std::map<uint32_t, absl::btree_map<uint64_t, FrontierQueue*>> ready;
  // The crawl id's place in CrawlTurns::Coming, and since when others have the turn.
  std::pair<uint64_t, uint64_t> comes = {std::numeric_limits<uint64_t>::max(), 0};
  uint64_t put_off = 0;

  // Whether the client owns the crawl id, or has the same rights.
  [[nodiscard]] bool IsOf(const Claim& by) const {
    return by.client == 0 || by.admin || owner->client == by.client;
  }
  // Takes the queue out of its place in this crawl id; does not tell the turns of crawl ids.
  void TakeAway(FrontierQueue& queue);
  // Whether another queue fits. The store allows reuse of free numbers, so all may be used.
  [[nodiscard]] bool has_room() const { return next_queue < std::numeric_limits<uint32_t>::max(); }
  // The ready queue whose turn is first, if that is before `end`, with fewer than `most_flights` in
  // flight; nullptr = none. The queue stays: serving it, and QueueTable::File, move it.
  [[nodiscard]] FrontierQueue* FirstReady(uint32_t most_flights, uint64_t end) const;
};

// The places that a URL in flight takes: it is in memory, so a long one takes several.
[[nodiscard]] constexpr uint64_t PlacesOfFlight(size_t url_bytes) {
  constexpr size_t kBytesPerPlace = 256;
  return 1 + url_bytes / kBytesPerPlace;
}

// The crawl ids and queues, for those who look. QueueTable changes them. Thread-compatible.
class QueueBook {
 public:
  QueueBook(const QueueBook&) = delete;
  QueueBook& operator=(const QueueBook&) = delete;

  // nullptr = there is none.
  [[nodiscard]] FrontierCrawl* FindCrawl(std::string_view name) const;
  [[nodiscard]] FrontierQueue* Find(std::string_view crawl, std::string_view key) const;
  [[nodiscard]] FrontierQueue* Find(FrontierQueueId id) const;
  // By number.
  [[nodiscard]] const FrontierCrawls& crawls() const { return crawls_; }
  [[nodiscard]] const FrontierCounts& counts() const { return counts_; }

  // The crawl ids and counts of this client; blank = none.
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
