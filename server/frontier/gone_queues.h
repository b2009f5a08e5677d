// Removed queues and crawl ids of any size: each turn destroys a part of them.
#ifndef FRESHET_SERVER_FRONTIER_GONE_QUEUES_H_
#define FRESHET_SERVER_FRONTIER_GONE_QUEUES_H_

#include <cstddef>
#include <memory>
#include <vector>

namespace freshet {

class FlightEnds;
struct FrontierCrawl;
struct FrontierQueue;

// Removed queues and crawl ids, found only by their flights. Thread-compatible.
class GoneQueues {
 public:
  GoneQueues();
  ~GoneQueues();
  GoneQueues(const GoneQueues&) = delete;
  GoneQueues& operator=(const GoneQueues&) = delete;

  // Takes over a queue already removed from its table, or a crawl id with its queues.
  void Take(std::unique_ptr<FrontierQueue> queue);
  void Take(std::unique_ptr<FrontierCrawl> crawl);
  // Ends flights and destroys queues, `most` of both together.
  void LetGo(size_t most, FlightEnds& flights);
  [[nodiscard]] bool empty() const { return queues_.empty() && crawls_.empty(); }

 private:
  // Takes a queue from a crawl id, or destroys one that has none. Precondition: there is a crawl
  // id.
  void TakeNext();

  std::vector<std::unique_ptr<FrontierQueue>> queues_;
  std::vector<std::unique_ptr<FrontierCrawl>> crawls_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_GONE_QUEUES_H_
