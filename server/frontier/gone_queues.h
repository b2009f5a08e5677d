// Destroys removed queues and crawl ids of any size, a part in each turn.
#ifndef FRESHET_SERVER_FRONTIER_GONE_QUEUES_H_
#define FRESHET_SERVER_FRONTIER_GONE_QUEUES_H_

#include <cstddef>
#include <memory>
#include <vector>

namespace freshet {

class FlightEnds;
struct FrontierCrawl;
struct FrontierQueue;

// Owns removed queues and crawl ids until they are destroyed. Only their flights still refer to
// them. Thread-compatible.
class GoneQueues {
 public:
  GoneQueues();
  ~GoneQueues();
  GoneQueues(const GoneQueues&) = delete;
  GoneQueues& operator=(const GoneQueues&) = delete;

  // Takes over a queue that was removed from its table, or a crawl id with all its queues.
  void Take(std::unique_ptr<FrontierQueue> queue);
  void Take(std::unique_ptr<FrontierCrawl> crawl);
  // Ends flights and destroys queues: at most `most` in total.
  void LetGo(size_t most, FlightEnds& flights);
  [[nodiscard]] bool empty() const { return queues_.empty() && crawls_.empty(); }

 private:
  // Moves a queue of the last crawl id to queues_, or destroys that crawl id if it has no queue
  // left. Precondition: there is a crawl id.
  void TakeNext();

  std::vector<std::unique_ptr<FrontierQueue>> queues_;
  std::vector<std::unique_ptr<FrontierCrawl>> crawls_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_GONE_QUEUES_H_
