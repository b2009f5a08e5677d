#include "server/frontier/frontier_stage.h"

#include <utility>

#include "server/frontier/queue_table.h"

namespace freshet {

FrontierStage::FrontierStage(FrontierStore& frontier_store, const FrontierLimits& frontier_limits)
    : store(frontier_store),
      limits(frontier_limits),
      table(std::make_unique<QueueTable>(limits.uncovered_flights)),
      batch(store) {}

FrontierStage::~FrontierStage() = default;

void FrontierStage::Touch(FrontierQueue& queue) {
  if (std::exchange(queue.changed, true)) return;
  changed.push_back(queue.id);
}

bool FrontierStage::IsOver(const FrontierQueue& queue) const {
  const FrontierQueueRecord& record = queue.record;
  const bool terms = record.longest_delay() || record.limit > 0 || record.block_end() >= now;
  return !queue.has_urls() && !terms;
}

void FrontierStage::Settle(FrontierQueue& queue) {
  if (IsOver(queue)) return RemoveEmpty(queue);
  Touch(queue);
  table->File(queue, now);
}

void FrontierStage::RemoveEmpty(FrontierQueue& queue) {
  FrontierCrawl& crawl = *queue.crawl;
  batch.DeleteQueue(queue.id);
  table->Remove(queue);
  if (!crawl.queues.empty()) return;
  batch.DeleteCrawl(crawl.number);
  table->RemoveCrawl(crawl);
}

void FrontierStage::MoveFlight(FrontierQueue& queue, const std::string& url, uint64_t due) {
  table->SetFlightDue(queue, url, due);
  batch.PutLease(queue.id, url, queue.flights.find(url)->second.lease);
}

}  // namespace freshet
