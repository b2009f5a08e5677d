#include "server/frontier/queue_book.h"

#include <utility>

#include "absl/strings/string_view.h"

namespace freshet {
namespace {

// In Debian's Abseil, absl::string_view is not std::string_view.
absl::string_view Key(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

void FrontierCrawl::TakeAway(FrontierQueue& queue) {
  if (queue.place == FrontierQueue::Place::kWaiting) {
    waiting.erase({queue.filed_at, queue.id.queue});
  } else if (queue.place == FrontierQueue::Place::kReady) {
    const auto bucket = ready.find(queue.filed_flights);
    bucket->second.erase(queue.filed_at);
    if (bucket->second.empty()) ready.erase(bucket);
  }
  queue.place = FrontierQueue::Place::kNowhere;
}

FrontierQueue* FrontierCrawl::FirstReady(uint32_t most_flights, uint64_t end) const {
  FrontierQueue* first = nullptr;
  for (const auto& [in_flight, of_so_many] : ready) {
    if (in_flight >= most_flights) break;
    const auto& [turn, queue] = *of_so_many.begin();
    if (turn < end) {
      end = turn;
      first = queue;
    }
  }
  return first;
}

FrontierCrawl* QueueBook::FindCrawl(std::string_view name) const {
  const auto it = by_name_.find(Key(name));
  return it == by_name_.end() ? nullptr : it->second;
}

FrontierQueue* QueueBook::Find(std::string_view crawl, std::string_view key) const {
  const FrontierCrawl* found = FindCrawl(crawl);
  if (found == nullptr) return nullptr;
  const auto it = found->queues.find(key);
  return it == found->queues.end() ? nullptr : it->second.get();
}

FrontierQueue* QueueBook::Find(FrontierQueueId id) const {
  const auto crawl = crawls_.find(id.crawl);
  if (crawl == crawls_.end()) return nullptr;
  const auto it = crawl->second->by_number.find(id.queue);
  return it == crawl->second->by_number.end() ? nullptr : it->second;
}

FrontierOwner QueueBook::OwnerOf(uint64_t client) const {
  const auto it = owners_.find(client);
  return it == owners_.end() ? FrontierOwner{.client = client, .counts = {}} : *it->second;
}

}  // namespace freshet
