// The crawl ids of the crawl-frontier API with queues that may serve, and when others will have
// some. A client that takes URLs of any crawl id looks only at these.
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

// The crawl ids in order. Thread-compatible.
class CrawlTurns {
 public:
  // By the second in which a queue becomes ready, then in order of arrival.
  using Coming = absl::btree_map<std::pair<uint64_t, uint64_t>, FrontierCrawl*>;

  // Files a crawl id after one of its queues was filed.
  void File(FrontierCrawl& crawl);
  // Queues of the crawl id have become ready at `now`: the turn goes to others that have some by
  // then.
  void PutOff(FrontierCrawl& crawl, uint64_t now);
  void Remove(FrontierCrawl& crawl);

  // By number.
  [[nodiscard]] const absl::btree_map<uint32_t, FrontierCrawl*>& ready() const { return ready_; }
  [[nodiscard]] const Coming& coming() const { return coming_; }

 private:
  void Come(FrontierCrawl& crawl, uint64_t second);

  absl::btree_map<uint32_t, FrontierCrawl*> ready_;
  Coming coming_;
  uint64_t next_ = 1;
};

// The crawl ids that one pull asks: first each with ready queues, then in turn those that gave
// something the last time. Others have nothing more for it. Value type, thread-compatible.
class CrawlRound {
 public:
  // The next crawl id; nullptr = none is left. `first`: where the first call begins.
  [[nodiscard]] FrontierCrawl* Next(const CrawlTurns& turns, const FrontierCrawls& crawls,
                                    uint32_t first);
  // Keeps a crawl id that has given something.
  void Keep(const FrontierCrawl& crawl);
  // The number of crawl ids named by Next.
  [[nodiscard]] uint64_t named() const { return named_; }

 private:
  [[nodiscard]] FrontierCrawl* NextReady(const CrawlTurns& turns);

  std::optional<uint32_t> first_;
  uint32_t next_ = 0;
  bool wrapped_ = false;        // past the last of them
  bool over_ = false;           // all ready ones were named
  std::deque<uint32_t> again_;  // by number
  uint64_t named_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_CRAWL_TURNS_H_
