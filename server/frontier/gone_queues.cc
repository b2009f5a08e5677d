#include "server/frontier/gone_queues.h"

#include <utility>

#include "server/frontier/flight_ends.h"
#include "server/frontier/queue_table.h"

namespace freshet {

GoneQueues::GoneQueues() = default;
GoneQueues::~GoneQueues() = default;

void GoneQueues::Take(std::unique_ptr<FrontierQueue> queue) { queues_.push_back(std::move(queue)); }
void GoneQueues::Take(std::unique_ptr<FrontierCrawl> crawl) { crawls_.push_back(std::move(crawl)); }

void GoneQueues::LetGo(size_t most, FlightEnds& flights) {
  for (; most > 0 && !empty(); --most) {
    if (queues_.empty()) {
      TakeNext();
    } else if (FrontierQueue& queue = *queues_.back(); queue.flights.empty()) {
      queues_.pop_back();
    } else {
      flights.End(queue, queue.flights.begin()->first);
    }
  }
}

void GoneQueues::TakeNext() {
  FrontierCrawl& crawl = *crawls_.back();
  const auto first = crawl.queues.begin();
  if (first == crawl.queues.end()) return crawls_.pop_back();
  crawl.TakeAway(*first->second);
  crawl.by_number.erase(first->second->id.queue);
  queues_.push_back(std::move(first->second));
  crawl.queues.erase(first);
}

}  // namespace freshet
