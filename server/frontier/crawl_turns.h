// Tracks which crawl ids of the crawl-frontier API have queues that can serve URLs now, and when
// others will have some. A pull of URLs of any crawl id visits only these crawl ids.
#ifndef FRESHET_SERVER_FRONTIER_CRAWL_TURNS_H_
#define FRESHET_SERVER_FRONTIER_CRAWL_TURNS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/btree_map.h"

namespace freshet {

struct FrontierCrawl;
using FrontierCrawls = std::map<uint32_t, std::unique_ptr<FrontierCrawl>>;  // by number

// The crawl ids with ready queues, and the order in which other crawl ids get some.
// Thread-compatible.
class CrawlTurns {
 public:
  // Crawl ids with waiting queues, by the second in which the first queue becomes ready, then in
  // order of arrival.
  using Coming = absl::btree_map<std::pair<uint64_t, uint64_t>, FrontierCrawl*>;

  // Updates the crawl id's place. Must be called after one of its queues was filed.
  void File(FrontierCrawl& crawl);
  // Called when queues of the crawl id were made ready at `now`. Moves the crawl id behind the
  // other crawl ids that have queues to be made ready by then.
  void PutOff(FrontierCrawl& crawl, uint64_t now);
  void Remove(FrontierCrawl& crawl);

  // Crawl ids with ready queues, by number.
  [[nodiscard]] const absl::btree_map<uint32_t, FrontierCrawl*>& ready() const { return ready_; }
  [[nodiscard]] const Coming& coming() const { return coming_; }

 private:
  void Come(FrontierCrawl& crawl, uint64_t second);

  absl::btree_map<uint32_t, FrontierCrawl*> ready_;
  Coming coming_;
  uint64_t next_ = 1;
};

// The order in which one pull visits crawl ids: first each crawl id with ready queues, and then,
// again and again, those that served a queue at their last visit. The others have no more queues
// for this pull. Value type, thread-compatible.
class CrawlRound {
 public:
  // Returns the next crawl id; nullptr = none is left. `first`: the number at which the round
  // begins. Only the first call uses it.
  [[nodiscard]] FrontierCrawl* Next(const CrawlTurns& turns, const FrontierCrawls& crawls,
                                    uint32_t first);
  // Notes that a crawl id has served a queue, so that it is visited again.
  void Keep(const FrontierCrawl& crawl);
  // The number of crawl ids that Next has returned.
  [[nodiscard]] uint64_t named() const { return named_; }

 private:
  [[nodiscard]] FrontierCrawl* NextReady(const CrawlTurns& turns);

  std::optional<uint32_t> first_;
  uint32_t next_ = 0;
  bool wrapped_ = false;        // has continued at the lowest number
  bool over_ = false;           // all ready crawl ids were visited
  std::deque<uint32_t> again_;  // numbers of the crawl ids to visit again
  uint64_t named_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_CRAWL_TURNS_H_
